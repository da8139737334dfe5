-- Which step of a trace appended an event. Null for what is not sampled, which is nearly all.

-- AlterTable
ALTER TABLE "events" ADD COLUMN     "trace" TEXT;
