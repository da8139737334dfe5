-- Posts in the order of their last change. The included columns let PostgreSQL skip and count posts in the index alone.

CREATE INDEX CONCURRENTLY "posts_updated_at_id_idx" ON "posts"((coalesce("updated_at", "created_at")), "id") INCLUDE ("updated_at", "created_at");
