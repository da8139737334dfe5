import { FastCounter, FastHistogram } from '../platform/metrics/instruments.ts';
import type { Attributes, Span } from '../platform/tracing/tracing.ts';
import { DatabaseError, type DatabaseErrorKind } from './errors.ts';
import type { Query } from './statement.ts';

/** The connections of a pool. */
interface PoolState {
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
  readonly statements = new FastHistogram(STATEMENT_BUCKETS_SECONDS);
  /** From when a connection is asked for until there is one. */
  readonly waits = new FastHistogram(WAIT_BUCKETS_SECONDS);
  readonly failures = new FastCounter();
  readonly pool: () => PoolState;
  /** Whether the last contact with the database succeeded. False until there is one. */
  up = false;

  constructor(pool: () => PoolState) {
    for (const kind of KINDS) this.failures.add(kind, '', 0);
    this.pool = pool;
  }

  /** A statement has returned, or failed. */
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

const SETTING = 'content_graph.trace';

/** SQL for what names the trace that a statement belongs to, as text; NULL if it is not sampled. */
export const TRACE_SQL = `nullif(current_setting('${SETTING}', true), '')`;

const DIGEST = /_[\w-]{22}$/;
const SYSTEM: Attributes = { 'db.system.name': 'postgresql' };
/** What is sent to whoever follows the log. The names of messaging are still in development. */
const EVENTS: Attributes = {
  'messaging.system': 'content_graph',
  'messaging.destination.name': 'events',
  'messaging.operation.name': 'append',
  'messaging.operation.type': 'send',
};

/** Of a closed set. */
const errorOf = (error: unknown) => (error instanceof DatabaseError ? error.kind : 'other');

/**
 * The spans of what a connection does while it is lent to traced work: its transaction, its statements, and the events
 * that it appends, whose rows name the last of them.
 */
export class TracedStatements {
  readonly #work: Span;
  #transaction: Span | undefined;
  #events: Span | undefined;
  #appended = false;

  constructor(work: Span) {
    this.#work = work;
  }

  /** `sql` begins a transaction. Returns SQL that tells its statements of the trace, too. */
  begin(sql: string): string {
    this.#transaction = this.#work.child('transaction', { kind: 'CLIENT', attributes: SYSTEM });
    return `${sql}; SELECT ${this.#tell()}`;
  }

  /** The same before a statement that commits by itself, in its flight. `before` is what is already run there, a SELECT. */
  alone(before: string | undefined): string {
    return before === undefined ? `SELECT ${this.#tell()}` : `${before}, ${this.#tell()}`;
  }

  #tell(): string {
    this.#events = (this.#transaction ?? this.#work).child('send events', { kind: 'PRODUCER' });
    return `set_config('${SETTING}', '${this.#events.traceparent}', true)`;
  }

  /** Begins the spans of statements. Returns what ends them, with the rows of each or with an error. */
  statements(queries: readonly Query<unknown>[]): (results: readonly unknown[][], error?: unknown) => void {
    const begun = queries.map(({ statement: { name, text } }) => {
      const summary = name.replace(DIGEST, '');
      const attributes = { ...SYSTEM, 'db.query.summary': summary };
      return {
        span: (this.#transaction ?? this.#work).child(summary, { kind: 'CLIENT', attributes }),
        appends: text.includes(TRACE_SQL),
      };
    });
    return (results, error) => {
      for (const [index, { span, appends }] of begun.entries()) {
        // Without a row nothing was changed, so nothing was appended; after an error it may have been.
        this.#appended ||= appends && (error !== undefined || (results[index]?.length ?? 0) > 0);
        span.end({}, error === undefined ? undefined : errorOf(error));
      }
    };
  }

  /** The connection is given back. What was not committed was not sent; where that is not known, it may have been. */
  end(error: unknown, committed: boolean): void {
    const reason = error === undefined ? undefined : errorOf(error);
    const isUnknown = reason === 'unknown';
    if ((committed || isUnknown) && this.#appended) this.#events?.end(EVENTS);
    this.#transaction?.end({ 'content_graph.committed': isUnknown ? undefined : committed }, reason);
  }
}
