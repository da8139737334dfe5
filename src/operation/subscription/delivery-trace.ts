import type { LogEvent } from '../../events/position.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';

export interface DeliveryTraceOptions {
  readonly tracing: Pick<Tracing, 'follow'> | undefined;
  readonly isNew: (event: LogEvent) => boolean;
}

/** A mutation may append thousands of events, and each has as many deliveries as there are groups. */
const MAX_SPANS = 20;

/**
 * The delivery of a batch of events to those who get the same, as traces tell it: a span for each event that a sampled
 * mutation appended, in the trace of that mutation, whichever instance ran it. None for a stream or a listener: there may
 * be thousands.
 */
export class DeliveryTrace {
  readonly #spans: Map<LogEvent, Span>;
  /** What reading the batch belongs to. */
  readonly span: Span;

  private constructor(spans: Map<LogEvent, Span>, first: Span) {
    this.#spans = spans;
    this.span = first;
  }

  /** Undefined if none of the events is traced and new. */
  static of(
    events: readonly LogEvent[],
    { tracing, isNew }: DeliveryTraceOptions,
  ): DeliveryTrace | undefined {
    if (tracing === undefined) return undefined;
    const spans = new Map<LogEvent, Span>();
    for (const event of events) {
      if (event.trace === null || !isNew(event)) continue;
      const span = tracing.follow('process events', event.trace, {
        kind: 'consumer',
        attributes: {
          'messaging.system': 'content_graph',
          'messaging.destination.name': 'events',
          'messaging.operation.name': 'deliver',
          'messaging.operation.type': 'process',
          'messaging.batch.message_count': events.length,
          'content_graph.event.kind': event.kind,
        },
      });
      if (span !== undefined) spans.set(event, span);
      if (spans.size === MAX_SPANS) break;
    }
    const [first] = spans.values();
    return first === undefined ? undefined : new DeliveryTrace(spans, first);
  }

  /** Only these are sent now. The rows of others are gone, or they come with the next batch. */
  keep(sent: readonly LogEvent[]): void {
    const left = new Set(sent);
    for (const [event, span] of this.#spans) {
      if (left.has(event)) continue;
      span.end({ 'content_graph.streams': 0 });
      this.#spans.delete(event);
    }
  }

  /** They were written to so many streams, or not because of an error. */
  end(streams: number, error?: string): void {
    for (const span of this.#spans.values()) span.end({ 'content_graph.streams': streams }, error);
    this.#spans.clear();
  }
}
