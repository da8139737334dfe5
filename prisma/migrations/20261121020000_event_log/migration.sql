-- CreateTable
CREATE TABLE "event_log" (
    "id" SMALLINT NOT NULL DEFAULT 1,
    "generation" UUID NOT NULL,
    "origin" TEXT NOT NULL,
    "pruned_xid" xid8,
    "pruned_id" BIGINT,

    CONSTRAINT "event_log_pkey" PRIMARY KEY ("id")
);
