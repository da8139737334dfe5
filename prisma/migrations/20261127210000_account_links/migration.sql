-- Links by which people set a password: one for an account at most.

-- CreateTable
CREATE TABLE "account_links" (
    "user_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "email_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "account_links_pkey" PRIMARY KEY ("user_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "account_links_id_key" ON "account_links"("id");

-- CreateIndex
CREATE UNIQUE INDEX "account_links_hash_key" ON "account_links"("hash");

-- CreateIndex
CREATE INDEX "account_links_expires_at_idx" ON "account_links"("expires_at");

-- AddForeignKey
ALTER TABLE "account_links" ADD CONSTRAINT "account_links_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
