import { isAfter, type LogEvent, type LogPosition } from '../../events/position.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';

/** A mutation may append thousands of events, and each has as many deliveries as there are groups. */
const MAX_SPANS = 20;

/** The delivery of a batch, as traces tell it. */
export interface DeliveryTrace {
  /** What reading the batch belongs to. */
  readonly span: Span;
  /** Only these are sent now. The rows of others are gone, or they come with the next batch. */
  keep(sent: readonly LogEvent[]): void;
  /** They were written to so many streams, or not because of an error. */
  end(streams: number, error?: string): void;
}

/**
 * The deliveries of a group in traces: a span for each event that a sampled mutation appended, in the trace of that
 * mutation, whichever instance ran it. Once for all who get the same: streams that come back, or lag, have none of their own.
 */
export class DeliveryTraces {
  readonly #tracing: Tracing | undefined;
  /** What is not after this was delivered before the group was there, or its delivery has been told of. */
  #toldTo: LogPosition | undefined;

  constructor(tracing: Tracing | undefined) {
    this.#tracing = tracing;
  }

  /** A stream has joined to which all that is not after this is history. */
  joined(liveAfter: LogPosition): void {
    this.#toldTo ??= liveAfter;
  }

  #spansOf(events: readonly LogEvent[]): Map<LogEvent, Span> {
    const spans = new Map<LogEvent, Span>();
    for (const event of events) {
      const isNew = this.#toldTo !== undefined && isAfter(event.position, this.#toldTo);
      if (event.trace === null || !isNew) continue;
      const span = this.#tracing?.follow('process events', event.trace, {
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
          if (error === undefined) this.#toldTo = position;
        }
        spans.clear();
      },
    };
  }
}
