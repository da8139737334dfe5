-- Slugs of posts, which are null for rows of older versions until a job fills them, and the slugs that posts had before.

-- AlterTable
ALTER TABLE "posts" ADD COLUMN     "slug" TEXT;

-- CreateTable
CREATE TABLE "former_slugs" (
    "slug" TEXT NOT NULL,
    "post_id" UUID NOT NULL,

    CONSTRAINT "former_slugs_pkey" PRIMARY KEY ("slug")
);

-- CreateIndex
CREATE INDEX "former_slugs_post_id_idx" ON "former_slugs"("post_id");

-- AddForeignKey
ALTER TABLE "former_slugs" ADD CONSTRAINT "former_slugs_post_id_fkey" FOREIGN KEY ("post_id") REFERENCES "posts"("id") ON DELETE CASCADE ON UPDATE CASCADE;
