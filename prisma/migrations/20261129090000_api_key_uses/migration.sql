-- The IP addresses that used an API key, for an operator who looks into a leaked key.

-- CreateTable
CREATE TABLE "api_key_uses" (
    "key_id" UUID NOT NULL,
    "address" TEXT NOT NULL,
    "user_agent" TEXT,
    "first_at" TIMESTAMPTZ(3) NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_key_uses_pkey" PRIMARY KEY ("key_id","address")
);

-- CreateIndex
CREATE INDEX "api_key_uses_last_at_idx" ON "api_key_uses"("last_at");

-- AddForeignKey
ALTER TABLE "api_key_uses" ADD CONSTRAINT "api_key_uses_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;
