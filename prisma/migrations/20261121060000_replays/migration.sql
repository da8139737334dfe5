-- AlterTable
ALTER TABLE "idempotency_keys" ADD COLUMN     "scopes" TEXT[],
ADD COLUMN     "session_id" UUID;
