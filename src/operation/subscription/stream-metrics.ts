import type { LogEvent } from '../../events/log.ts';
import { isAfter } from '../../events/position.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { SubscriberStream } from './subscriber-stream.ts';

/** Metrics of event streams. Their numbers are counted where they are opened. */
export interface StreamMetrics {
  /** These events, at least one, were sent to each of these streams. */
  sent(events: readonly LogEvent[], streams: readonly SubscriberStream[]): void;
  /** A stream was opened that resumes from an event id. */
  resumed(): void;
  /** A stream was ended because its reader was too slow or had vanished. */
  cutOff(): void;
}

const LAG_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** How many of the events, which are in order, are history to a stream. */
function replayedTo({ liveAfter }: SubscriberStream, events: readonly LogEvent[]): number {
  const live = events.findIndex(({ position }) => isAfter(position, liveAfter));
  return live === -1 ? events.length : live;
}

export function createStreamMetrics(metrics: Metrics): StreamMetrics {
  const sent = metrics.counter('events_sent_total', 'Events written to streams.');
  const replayed = metrics.counter(
    'events_replayed_total',
    'Events written to streams that happened before the stream was opened.',
  );
  const resumed = metrics.counter(
    'event_streams_resumed_total',
    'Streams opened with the id of an earlier event.',
  );
  const cutOff = metrics.counter(
    'event_streams_cut_off_total',
    'Streams ended because their reader was too slow or had vanished.',
  );
  const lag = metrics.histogram(
    'event_lag_seconds',
    'Seconds from the start of the transaction that created an event until it is written to streams, once for each event and up to 32 streams.',
    LAG_BUCKETS_SECONDS,
  );
  return {
    sent(events, streams) {
      let history = 0;
      let leastHistory = events.length;
      for (const stream of streams) {
        const count = replayedTo(stream, events);
        history += count;
        leastHistory = Math.min(leastHistory, count);
      }
      if (streams.length > 0) sent.inc(events.length * streams.length);
      if (history > 0) replayed.inc(history);
      const nowMs = Date.now();
      for (const { createdAt } of events.slice(leastHistory))
        lag.observe(Math.max(0, nowMs - createdAt.getTime()) / 1000);
    },
    resumed: () => resumed.inc(),
    cutOff: () => cutOff.inc(),
  };
}
