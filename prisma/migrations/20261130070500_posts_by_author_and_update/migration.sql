-- Posts of an author in the order of their last change.

CREATE INDEX CONCURRENTLY "posts_author_id_updated_at_id_idx" ON "posts"("author_id", (coalesce("updated_at", "created_at")), "id") INCLUDE ("updated_at", "created_at");
