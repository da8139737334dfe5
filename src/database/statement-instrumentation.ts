import { FastCounter, FastHistogram } from '../platform/metrics/instruments.ts';
import type { Attributes, Span } from '../platform/tracing/tracing.ts';
import { DatabaseError, type DatabaseErrorKind } from './errors.ts';
import type { Query } from './statement.ts';

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

export class DatabaseStatistics {
  readonly statements = new FastHistogram(STATEMENT_BUCKETS_SECONDS);
  readonly waits = new FastHistogram(WAIT_BUCKETS_SECONDS);
  readonly failures = new FastCounter();
  readonly pool: () => PoolState;
  up = false;

  constructor(pool: () => PoolState) {
    for (const kind of KINDS) this.failures.add(kind, '', 0);
    this.pool = pool;
  }

  ended(sinceMs: number, failure: DatabaseErrorKind | undefined): void {
    this.statements.observe((performance.now() - sinceMs) / 1000);
    if (failure === undefined) this.up = true;
    else this.failed(failure);
  }

  /** Only `unavailable` means that the server did not respond. */
  failed(kind: DatabaseErrorKind): void {
    this.failures.add(kind);
    if (kind !== 'timeout' && kind !== 'unknown') this.up = kind !== 'unavailable';
  }
}

const SETTING = 'content_graph.trace';

/** SQL for the traceparent of the statement's trace, or NULL if the trace is not sampled. */
export const TRACE_SQL = `nullif(current_setting('${SETTING}', true), '')`;

const DIGEST = /_[\w-]{22}$/;
const SYSTEM: Attributes = { 'db.system.name': 'postgresql' };
/**
 * The event log counts as a messaging system. OpenTelemetry's attributes for messaging are not stable yet.
 */
const EVENTS: Attributes = {
  'messaging.system': 'content_graph',
  'messaging.destination.name': 'events',
  'messaging.operation.name': 'append',
  'messaging.operation.type': 'send',
};

/** Span attributes need a closed set of error types. */
const classifyError = (error: unknown) => (error instanceof DatabaseError ? error.kind : 'other');

/**
 * Spans of a connection while traced work uses the connection: the transaction, its statements, and the
 * events that it appends. The rows of the events store the traceparent of the event span.
 */
export class TracedStatements {
  readonly #work: Span;
  #transaction: Span | undefined;
  #events: Span | undefined;
  #appended = false;

  constructor(work: Span) {
    this.#work = work;
  }

  /** @returns SQL that also sets the traceparent for the statements of the transaction. */
  begin(sql: string): string {
    this.#transaction = this.#work.child('transaction', { kind: 'CLIENT', attributes: SYSTEM });
    return `${sql}; SELECT ${this.#tell()}`;
  }

  /**
   * For a statement that commits by itself.
   * @param before a SELECT that already runs in the round trip.
   */
  alone(before: string | undefined): string {
    return before === undefined ? `SELECT ${this.#tell()}` : `${before}, ${this.#tell()}`;
  }

  #tell(): string {
    this.#events = (this.#transaction ?? this.#work).child('send events', { kind: 'PRODUCER' });
    return `set_config('${SETTING}', '${this.#events.traceparent}', true)`;
  }

  /** @returns a function that ends the spans, with the rows of each statement or with an error. */
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
        // A statement without rows has changed nothing and appended no events. A failed statement may have
        // appended events.
        this.#appended ||= appends && (error !== undefined || (results[index]?.length ?? 0) > 0);
        span.end({}, error === undefined ? undefined : classifyError(error));
      }
    };
  }

  /** Uncommitted events were not sent. Events with an unknown outcome may have been sent. */
  end(error: unknown, committed: boolean): void {
    const reason = error === undefined ? undefined : classifyError(error);
    const isUnknown = reason === 'unknown';
    if ((committed || isUnknown) && this.#appended) this.#events?.end(EVENTS);
    this.#transaction?.end({ 'content_graph.committed': isUnknown ? undefined : committed }, reason);
  }
}
