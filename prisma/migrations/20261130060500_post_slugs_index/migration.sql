-- A separate migration, because a concurrent index blocks no request.

-- CreateIndex
CREATE UNIQUE INDEX CONCURRENTLY "posts_slug_key" ON "posts"("slug");
