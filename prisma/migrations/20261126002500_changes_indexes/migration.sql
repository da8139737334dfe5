-- In a migration of its own: nobody who reads waits for it.

-- CreateIndex
CREATE INDEX "events_root_id_era_xid_id_idx" ON "events"("root_id", "era", "xid", "id");

-- CreateIndex
CREATE INDEX "events_owner_id_era_xid_id_idx" ON "events"("owner_id", "era", "xid", "id");
