import { type Statement, statement } from '../platform/db/statement.ts';

/**
 * Stands in a response for the instant at which its transaction began, which the database knows. JSON text never
 * contains it: control characters in strings are escaped (RFC 8259 section 7).
 */
export const OPEN_INSTANT = '\u0001';

/** The response with the instant in its places, as the scalar DateTime prints it. */
export function withInstant(text: string, instant: Date): string {
  return text.includes(OPEN_INSTANT) ? text.replaceAll(OPEN_INSTANT, instant.toISOString()) : text;
}

/** What the database sets in a new row. */
export interface Inserted {
  readonly createdAt: Date;
}

/** What follows from it: a new row was last changed when it was made. */
export interface Dated extends Inserted {
  readonly updatedAt: Date;
}

/**
 * The SQL of the lock of an Idempotency-Key, and of the response that is stored with the row. `first` is the number of
 * its first parameter.
 */
export interface KeyLockSql {
  /** An expression that tries to take the lock until the transaction ends. */
  take(first: number): string;
  /** An INSERT that stores the response for the row of `source`, unless the key has one. */
  store(first: number, source: string): string;
}

/** An INSERT of one row with what else is written for it, as one statement that returns what the database has set. */
export interface InsertStatement {
  readonly plain: Statement<Inserted>;
  /** The same behind the lock of a key, whose parameters begin with number `first`. No row if nothing was written. */
  keyed(lock: KeyLockSql, first: number): Statement<Inserted>;
}

const part = (name: string, sql: string) => `${name} AS (${sql})`;

/** What else a statement writes for the row that it inserts, each part by its name. */
export interface AlsoWritten {
  /** The columns of the row that the parts need, beside `id` and `created_at`. */
  readonly columns?: readonly string[];
  readonly parts: Readonly<Record<string, (row: string) => string>>;
}

/**
 * `insert` is the INSERT up to its SELECT list; each part of `also` is SQL that takes its rows from the inserted row. Each
 * part of the statement takes its rows from the one before, so all are done or none.
 * The whole of a keyed createPost:
 *
 * @example
 * WITH key AS MATERIALIZED (SELECT CASE
 *     WHEN NOT pg_try_advisory_lock(hashtextextended($5::text, 20261124)) THEN false
 *     WHEN pg_try_advisory_xact_lock(hashtextextended($5::text, 20261121))
 *       THEN pg_advisory_unlock(hashtextextended($5::text, 20261124))
 *     ELSE NOT pg_advisory_unlock(hashtextextended($5::text, 20261124)) END AS locked),
 *   stored AS (INSERT INTO idempotency_keys AS kept (user_id, key_hash, fingerprint, status, body, session_id, scopes)
 *     SELECT $6::uuid, $7::bytea, $8::bytea, $9::smallint, $10::bytea, $11::uuid, $12::text[] FROM key WHERE locked
 *     ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING 1),
 *   inserted AS (INSERT INTO posts (id, title, body, author_id) SELECT $1::uuid, $2, $3, $4::uuid FROM stored
 *     RETURNING id, created_at, author_id),
 *   event AS (INSERT INTO events (kind, root_id, part_id, owner_id, trace)
 *     SELECT 'POST_CREATED', id, NULL::uuid, author_id, nullif(current_setting('content_graph.trace', true), '') FROM inserted)
 * SELECT created_at AS "createdAt" FROM inserted
 */
export function insertStatement(
  label: string,
  insert: string,
  { columns = [], parts: also }: AlsoWritten,
): InsertStatement {
  const row = 'inserted';
  const compose = (before: readonly string[], source: string) => {
    const parts = [
      ...before,
      part(row, `${insert} ${source} RETURNING ${['id', 'created_at', ...columns].join(', ')}`),
      ...Object.entries(also).map(([name, sql]) => part(name, sql(row))),
    ];
    return `WITH ${parts.join(', ')} SELECT created_at AS "createdAt" FROM ${row}`;
  };
  const known = new WeakMap<KeyLockSql, Statement<Inserted>>();
  return {
    plain: statement(label, compose([], '')),
    keyed(lock, first) {
      let found = known.get(lock);
      if (found === undefined) {
        const key = `key AS MATERIALIZED (SELECT ${lock.take(first)} AS locked)`;
        const stored = part('stored', lock.store(first, 'FROM key WHERE locked'));
        found = statement(`${label}_keyed`, compose([key, stored], 'FROM stored'));
        known.set(lock, found);
      }
      return found;
    },
  };
}
