import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { StreamType } from '../documents/operation-request.ts';
import { isAfter, type LogEvent } from '../events/event.ts';
import type { StreamCloseReason, SubscriberStream } from './subscriber-stream.ts';

const FORMATS = {
  'text/event-stream': 'sse',
  'multipart/mixed;subscriptionSpec=1.0': 'multipart',
} as const satisfies Record<StreamType, string>;
const CLOSE_REASONS: readonly StreamCloseReason[] = [
  'finished',
  'interrupted',
  'failed',
  'client_disconnected',
];
const LAG_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function replayedTo({ liveAfter }: SubscriberStream, events: readonly LogEvent[]): number {
  const live = events.findIndex(({ position }) => isAfter(position, liveAfter));
  return live === -1 ? events.length : live;
}

export function createStreamMetrics(metrics: Metrics) {
  const sent = metrics.counter(
    'content_graph_events_sent_total',
    'Events written to streams, once for each stream.',
  );
  const replayed = metrics.counter(
    'content_graph_events_replayed_total',
    'Events written to streams opened after the event.',
  );
  const resumed = metrics.counter(
    'content_graph_event_streams_resumed_total',
    'Streams opened with the id of an earlier event.',
  );
  const cutOff = metrics.counter(
    'content_graph_event_streams_aborted_total',
    'Streams aborted because the client reads too slowly or is dead.',
  );
  const lag = metrics.fastHistogram(
    'content_graph_event_delivery_lag_seconds',
    'Time from the start of an event’s transaction until the event is written, for up to 32 streams.',
    LAG_BUCKETS_SECONDS,
  );
  const opened = metrics.fastCounter('content_graph_event_streams_opened_total', 'Event streams opened.', [
    'format',
  ]);
  const ended = metrics.fastCounter(
    'content_graph_event_streams_ended_total',
    'Streams closed: finished, interrupted, failed, or client_disconnected, which includes aborted streams.',
    ['reason'],
  );
  const batches = metrics.counter(
    'content_graph_event_batches_total',
    'Batches of events, read once for all streams of a cohort.',
  );
  const open = new Map<string, number>();
  for (const format of Object.values(FORMATS)) {
    opened.add(format, '', 0);
    open.set(format, 0);
  }
  for (const reason of CLOSE_REASONS) ended.add(reason, '', 0);
  metrics.gauges('content_graph_event_streams_open_by_format', 'Open event streams.', 'format', () => open);
  return {
    /** @returns the function to call when the stream closes */
    opened(type: StreamType): (reason: StreamCloseReason) => void {
      const format = FORMATS[type];
      const count = (by: number) => open.set(format, (open.get(format) ?? 0) + by);
      opened.add(format);
      count(1);
      return (reason) => {
        ended.add(reason);
        count(-1);
      };
    },
    batch: () => batches.inc(),
    sent(events: readonly LogEvent[], streams: readonly SubscriberStream[]): void {
      let replayedCount = 0;
      let leastHistory = events.length;
      for (const stream of streams) {
        const count = replayedTo(stream, events);
        replayedCount += count;
        leastHistory = Math.min(leastHistory, count);
      }
      if (streams.length > 0) sent.inc(events.length * streams.length);
      if (replayedCount > 0) replayed.inc(replayedCount);
      const nowMs = Date.now();
      for (const { createdAt, trace } of events.slice(leastHistory))
        lag.observe(
          Math.max(0, nowMs - createdAt.getTime()) / 1000,
          // The trace id is the second part of a traceparent.
          trace?.split('-')[1],
        );
    },
    resumed: () => resumed.inc(),
    /** Counts a stream that was aborted because its reader is slow or dead. */
    cutOff: () => cutOff.inc(),
  };
}

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;
