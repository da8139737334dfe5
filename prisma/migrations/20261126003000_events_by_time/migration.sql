-- Retention looks at the first of the log. In a migration of its own: with the lock of the one before, it could deadlock.

-- DropIndex
DROP INDEX "events_created_at_idx";
