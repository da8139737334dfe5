import type { LogEvent } from '../../events/position.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';

/** The delivery of a batch of events to those who get the same, as traces tell it. */
export interface DeliveryTrace {
  /** What reading the batch belongs to. */
  readonly span: Span;
  /** They have been written to so many streams. */
  end(streams: number): void;
}

/** A mutation may append thousands of events, and each has as many deliveries as there are groups. */
const MAX_SPANS = 20;

/**
 * A span for each event of a batch that a sampled mutation appended, in the trace of that mutation, whichever instance ran
 * it. None for a stream or a listener: there may be thousands. Undefined if no event is traced.
 */
export function traceDelivery(
  tracing: Pick<Tracing, 'follow'> | undefined,
  events: readonly Pick<LogEvent, 'kind' | 'trace'>[],
): DeliveryTrace | undefined {
  if (tracing === undefined) return undefined;
  const spans: Span[] = [];
  for (const { kind, trace } of events) {
    if (trace === null) continue;
    const span = tracing.follow('process events', trace, {
      kind: 'consumer',
      attributes: {
        'messaging.system': 'content_graph',
        'messaging.destination.name': 'events',
        'messaging.operation.name': 'deliver',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': events.length,
        'content_graph.event.kind': kind,
      },
    });
    if (span !== undefined) spans.push(span);
    if (spans.length === MAX_SPANS) break;
  }
  const [span] = spans;
  if (span === undefined) return undefined;
  return {
    span,
    end(streams) {
      for (const each of spans) each.end({ 'content_graph.streams': streams });
    },
  };
}
