-- Requests continue while the index is built.
CREATE UNIQUE INDEX CONCURRENTLY "users_handle_key" ON "users"("handle");
