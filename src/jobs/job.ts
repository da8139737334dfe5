import { inBatches } from '../platform/db/in-batches.ts';
import { type Parameter, type Queryable, statement } from '../platform/db/statement.ts';

/**
 * Deletes rows that nobody needs any more, by the database's clock, since an instance's may be wrong. A feature whose rows
 * expire defines jobs for them.
 */
export interface Job {
  /** The value of the label `task` of its metrics: Prometheus has a label `job` of its own. */
  readonly name: string;
  /** Returns how many rows it has removed. Ends between two statements once `signal` is aborted. Throws DatabaseError. */
  run(db: Queryable, signal?: AbortSignal): Promise<number>;
}

/** Rows to delete. */
export interface Deletable {
  readonly table: string;
  /** The columns of its primary key. */
  readonly key?: string;
  /** SQL. Its parameters begin with $2. */
  readonly condition: string;
  readonly values?: readonly Parameter[];
}

/** Small, so that locks and transactions stay short: long ones would delay events. */
const BATCH = 500;

/** A job that deletes all rows that meet a condition. Rows that somebody else is using wait for the next time. */
export function deletion(name: string, ...parts: readonly Deletable[]): Job {
  const batches = parts.map(({ table, key = 'id', condition, values = [] }) => ({
    values: [BATCH, ...values],
    drop: statement<{ one: number }>(
      `${table}_drop`,
      `DELETE FROM ${table} WHERE (${key}) IN (
         SELECT ${key} FROM ${table} WHERE ${condition} LIMIT $1 FOR UPDATE SKIP LOCKED
       ) RETURNING 1 AS one`,
    ),
  }));
  return {
    name,
    async run(db, signal) {
      let total = 0;
      for (const { drop, values } of batches)
        total += await inBatches(BATCH, async () => (await db.query(drop, values)).length, signal);
      return total;
    },
  };
}
