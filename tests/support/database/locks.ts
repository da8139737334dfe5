/**
 * The locks of the connected database. `pg_locks` has those of all databases, and the databases of tests are copies: a table has
 * the same identifier in each.
 */
export const LOCKS =
  '(SELECT * FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())) AS locks';
