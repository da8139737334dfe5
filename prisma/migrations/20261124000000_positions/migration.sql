-- Positions belong to events (docs/decisions/0029-positions.md): ids from before are no longer understood.

-- AlterTable
ALTER TABLE "event_log" ADD COLUMN     "eras" SMALLINT NOT NULL DEFAULT 0,
ADD COLUMN     "held_at" TIMESTAMPTZ(3),
ADD COLUMN     "held_xid" xid8,
ADD COLUMN     "pruned_era" SMALLINT NOT NULL DEFAULT 32767,
ADD COLUMN     "pruned_mark" TEXT;

-- AlterTable
ALTER TABLE "events" ADD COLUMN     "era" SMALLINT NOT NULL DEFAULT 32767;
