-- In a migration of its own: nobody who reads waits for it.

-- CreateIndex
CREATE INDEX "events_era_xid_id_idx" ON "events"("era", "xid", "id");
