import { isAfter, type LogEvent, type LogPosition } from '../../events/position.ts';
import type { Span, Tracing } from '../../platform/tracing/tracing.ts';

/** A mutation may append thousands of events, and each has as many deliveries as there are groups. */
const MAX_SPANS = 20;

/** The delivery of a batch, as traces tell it. */
export interface DeliveryTrace {
  /** What reading the batch belongs to. */
  readonly span: Span;
  /** Only these are sent now. The rows of others are gone, or they come with the next batch. */
  keep(sent: readonly LogEvent[]): void;
  /** They were written to this many streams; with `error`, to none. */
  end(streams: number, error?: string): void;
}

/**
 * The deliveries of a group in traces: a span for each event that a sampled mutation appended, in the trace of that
 * mutation, whichever instance ran it. There is one span for the whole group; streams that resume or lag have none.
 */
export class DeliveryTraces {
  readonly #tracing: Tracing | undefined;
  /** Events up to here have a span, or were delivered before the group existed. */
  #tracedTo: LogPosition | undefined;

  constructor(tracing: Tracing | undefined) {
    this.#tracing = tracing;
  }

  /** A stream has joined, for which events up to this position are history. */
  joined(liveAfter: LogPosition): void {
    this.#tracedTo ??= liveAfter;
  }

  #spansOf(events: readonly LogEvent[]): Map<LogEvent, Span> {
    const spans = new Map<LogEvent, Span>();
    for (const event of events) {
      const isNew = this.#tracedTo !== undefined && isAfter(event.position, this.#tracedTo);
      if (event.trace === null || !isNew) continue;
      const span = this.#tracing?.follow('process events', event.trace, {
        kind: 'CONSUMER',
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
    return spans;
  }

  /** Undefined if none of the events is traced and new. */
  of(events: readonly LogEvent[]): DeliveryTrace | undefined {
    if (this.#tracing === undefined) return undefined;
    const spans = this.#spansOf(events);
    const [span] = spans.values();
    if (span === undefined) return undefined;
    return {
      span,
      keep: (sent) => {
        const left = new Set(sent);
        for (const [event, own] of spans) {
          if (left.has(event)) continue;
          // Statements are below the first.
          if (own === span) own.end({ 'content_graph.streams': 0 });
          spans.delete(event);
        }
      },
      end: (streams, error) => {
        for (const [{ position }, own] of spans) {
          own.end({ 'content_graph.streams': streams }, error);
          if (error === undefined) this.#tracedTo = position;
        }
        spans.clear();
      },
    };
  }
}
