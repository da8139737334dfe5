-- What it was for, the new index does. In a migration of its own: with the lock of the one before, it could deadlock.

-- DropIndex
DROP INDEX "comments_author_id_idx";
