-- AlterTable
ALTER TABLE "stream_tokens" ADD COLUMN     "credential_key_id" TEXT;
