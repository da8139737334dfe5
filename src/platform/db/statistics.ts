import { Tally } from '../tally.ts';
import { Timings } from '../timings.ts';
import type { DatabaseErrorKind } from './errors.ts';

/** The connections of a pool. */
export interface PoolState {
  readonly most: number;
  readonly open: number;
  readonly inUse: number;
  readonly waiting: number;
}

const KINDS: readonly DatabaseErrorKind[] = [
  'unavailable',
  'timeout',
  'locked',
  'conflict',
  'unknown',
  'other',
];
const STATEMENT_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What a database has done, and how it is. */
export class DatabaseStatistics {
  /** From when a statement is given to a connection until it is done. */
  readonly statements = new Timings(STATEMENT_BUCKETS_SECONDS);
  /** From when a connection is asked for until there is one. */
  readonly waits = new Timings(WAIT_BUCKETS_SECONDS);
  readonly failures = new Tally();
  readonly pool: () => PoolState;
  /** Whether the last contact with the database succeeded. False until there is one. */
  up = false;

  constructor(pool: () => PoolState) {
    for (const kind of KINDS) this.failures.add(kind, '', 0);
    this.pool = pool;
  }

  /** A statement has been answered, or failed. */
  ended(sinceMs: number, failure: DatabaseErrorKind | undefined): void {
    this.statements.observe((performance.now() - sinceMs) / 1000);
    if (failure === undefined) this.up = true;
    else this.failed(failure);
  }

  /** A statement failed, or no connection could be had. Any other error than `unavailable` is the server's own. */
  failed(kind: DatabaseErrorKind): void {
    this.failures.add(kind);
    if (kind !== 'timeout' && kind !== 'unknown') this.up = kind !== 'unavailable';
  }
}
