-- In a migration of its own: nobody who reads waits for it.

-- CreateIndex
CREATE INDEX "comments_author_id_created_at_id_idx" ON "comments"("author_id", "created_at", "id");
