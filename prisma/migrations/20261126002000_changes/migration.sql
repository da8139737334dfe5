-- Events know their kind, and the keys that streams are filtered by. Those from before are of new posts.

-- AlterTable
ALTER TABLE "events" RENAME COLUMN "post_id" TO "root_id";

-- AlterTable
ALTER TABLE "events" ADD COLUMN     "kind" TEXT NOT NULL DEFAULT 'POST_CREATED',
ADD COLUMN     "owner_id" UUID,
ADD COLUMN     "part_id" UUID;

-- AlterTable
ALTER TABLE "events" ALTER COLUMN "kind" DROP DEFAULT;

UPDATE "events" SET "owner_id" = "posts"."author_id" FROM "posts" WHERE "posts"."id" = "events"."root_id";

-- DropIndex
DROP INDEX "events_xid_id_idx";
