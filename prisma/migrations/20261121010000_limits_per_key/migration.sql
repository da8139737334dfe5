-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "burst" INTEGER,
ADD COLUMN     "per_second" DOUBLE PRECISION;
