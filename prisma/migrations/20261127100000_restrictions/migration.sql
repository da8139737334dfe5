-- What an operator sets while the service runs: keys that are suspended, limits of accounts, blocked addresses. And how much
-- each client uses.

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "suspended_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "account_limits" (
    "user_id" UUID NOT NULL,
    "burst" INTEGER,
    "per_second" DOUBLE PRECISION,

    CONSTRAINT "account_limits_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "address_blocks" (
    "network" INET NOT NULL,
    "reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "ends_at" TIMESTAMPTZ(3),

    CONSTRAINT "address_blocks_pkey" PRIMARY KEY ("network")
);

-- CreateTable
CREATE TABLE "client_uses" (
    "instance" UUID NOT NULL,
    "slot" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "uses" JSONB NOT NULL,

    CONSTRAINT "client_uses_pkey" PRIMARY KEY ("instance","slot")
);

-- CreateIndex
CREATE INDEX "address_blocks_ends_at_idx" ON "address_blocks"("ends_at");

-- CreateIndex
CREATE INDEX "client_uses_at_idx" ON "client_uses"("at");

-- AddForeignKey
ALTER TABLE "account_limits" ADD CONSTRAINT "account_limits_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Its open streams end.
CREATE TRIGGER "api_keys_suspended" AFTER UPDATE OF "suspended_at" ON "api_keys"
  FOR EACH ROW WHEN (OLD."suspended_at" IS NULL AND NEW."suspended_at" IS NOT NULL)
  EXECUTE FUNCTION credentials_ended('user_id');

-- Every instance has these in memory.
CREATE FUNCTION restrictions_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('content_graph_restrictions', '');
  RETURN NULL;
END $$;

CREATE TRIGGER "account_limits_changed" AFTER INSERT OR UPDATE OR DELETE ON "account_limits"
  FOR EACH STATEMENT EXECUTE FUNCTION restrictions_changed();
CREATE TRIGGER "address_blocks_changed" AFTER INSERT OR UPDATE OR DELETE ON "address_blocks"
  FOR EACH STATEMENT EXECUTE FUNCTION restrictions_changed();
