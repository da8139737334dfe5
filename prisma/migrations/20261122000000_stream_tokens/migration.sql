-- CreateTable
CREATE TABLE "stream_tokens" (
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "hash" BYTEA NOT NULL,
    "credential_kind" TEXT NOT NULL,
    "credential_id" TEXT,
    "client_id" TEXT NOT NULL,
    "role" "Role" NOT NULL,
    "scopes" TEXT[],
    "credential_expires_at" TIMESTAMPTZ(3),
    "operation" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stream_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "stream_tokens_hash_key" ON "stream_tokens"("hash");

-- CreateIndex
CREATE INDEX "stream_tokens_user_id_expires_at_idx" ON "stream_tokens"("user_id", "expires_at");

-- CreateIndex
CREATE INDEX "stream_tokens_expires_at_idx" ON "stream_tokens"("expires_at");

-- AddForeignKey
ALTER TABLE "stream_tokens" ADD CONSTRAINT "stream_tokens_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
