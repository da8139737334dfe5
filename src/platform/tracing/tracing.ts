import type { Metrics } from '../metrics.ts';
import { Tally } from '../tally.ts';
import type { RequestTrace, Span, SpanOptions } from './span.ts';

/** The traces of a service. Its parts begin spans by hand, each where a trace is sampled. */
export interface Tracing {
  /**
   * Begins the trace of a request, or goes on with that of its `traceparent`. Whether it is sampled is for a trusted
   * peer to say; for all others it is drawn, or anybody could have all of theirs exported.
   */
  begin(name: string, traceparent: string | null, trusted: boolean): Pick<RequestTrace, 'traceId' | 'span'>;
  /** A span of what another one led to, in its trace and linked to it. Undefined if that is not sampled. */
  follow(name: string, cause: string, options?: SpanOptions): Span | undefined;
  /** How many ended spans were exported, how many an exporter failed on, and how many found the queue full. */
  readonly outcomes: Tally;
  /** Exports what has ended, within two seconds. Never rejects. */
  close(): Promise<void>;
}

/** What becomes of a span that has ended. */
export type SpanOutcome = 'exported' | 'failed' | 'dropped';

/** A tally of outcomes, all of them none so far. */
export function newOutcomes(): Tally {
  const outcomes = new Tally();
  for (const outcome of ['exported', 'failed', 'dropped'] satisfies SpanOutcome[])
    outcomes.add(outcome, '', 0);
  return outcomes;
}

export function registerTracing(metrics: Metrics, tracing: Pick<Tracing, 'outcomes'> | undefined): void {
  metrics.readTally(
    'trace_spans_total',
    'Spans of sampled traces that have ended: exported, failed where the collector did not take them, or dropped where too many were waiting for it.',
    ['outcome'],
    tracing?.outcomes ?? newOutcomes(),
  );
}
