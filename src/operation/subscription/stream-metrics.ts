import type { Metrics } from '../../platform/metrics.ts';

/** Metrics of event streams. Their number is counted where they are opened. */
export interface StreamMetrics {
  /** An event is sent: its age, and whether it predates the stream. */
  sent(createdAt: Date, replayed: boolean): void;
  /** A stream was ended because its reader was too slow or had vanished. */
  cutOff(): void;
}

const LAG_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createStreamMetrics(metrics: Metrics): StreamMetrics {
  const sent = metrics.counter('events_sent_total', 'Events written to streams.');
  const replayed = metrics.counter(
    'events_replayed_total',
    'Events written to streams that happened before the stream was opened.',
  );
  const cutOff = metrics.counter(
    'event_streams_cut_off_total',
    'Streams ended because their reader was too slow or had vanished.',
  );
  const lag = metrics.histogram(
    'event_lag_seconds',
    'Seconds from the start of the transaction that created an event until it is written to a stream.',
    LAG_BUCKETS_SECONDS,
  );
  return {
    sent(createdAt, isReplay) {
      sent.inc();
      if (isReplay) replayed.inc();
      else lag.observe(Math.max(0, Date.now() - createdAt.getTime()) / 1000);
    },
    cutOff: () => cutOff.inc(),
  };
}
