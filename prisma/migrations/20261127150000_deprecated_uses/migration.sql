-- Who uses what is to go: a row for each deprecated element, client, release and day.

-- CreateTable
CREATE TABLE "deprecated_uses" (
    "day" DATE NOT NULL,
    "element" TEXT NOT NULL,
    "client" TEXT NOT NULL,
    "release" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "first_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "deprecated_uses_pkey" PRIMARY KEY ("day","element","client","release")
);

-- CreateTable
CREATE TABLE "deprecated_use_stores" (
    "instance" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deprecated_use_stores_pkey" PRIMARY KEY ("instance")
);
