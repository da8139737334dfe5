import type { Queryable } from '../platform/db/statement.ts';

/** Deletes rows that nobody needs any more, by the database's clock: an instance's may be wrong. */
export interface Job {
  /** The value of the label `task` of its metrics: Prometheus has a label `job` of its own. */
  readonly name: string;
  /** Returns how many rows it has removed. Ends between two statements once `signal` is aborted. Throws DatabaseError. */
  run(db: Queryable, signal: AbortSignal): Promise<number>;
}
