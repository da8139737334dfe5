import type { Metrics } from '../../platform/metrics.ts';
import type { FanOut } from './fan-out.ts';
import type { StreamLimit } from './stream-limit.ts';

/** Has the metrics tell how many streams are open, and how the fan-out shares them out. */
export function registerFanOutMetrics(
  metrics: Metrics,
  fanOut: FanOut,
  streams: Pick<StreamLimit, 'total'>,
): void {
  metrics.gauge('event_streams_open', 'Open event streams.', () => streams.total);
  metrics.gauge(
    'event_group_bytes',
    'Memory of the groups of event streams, by the estimate that MAX_EVENT_GROUP_BYTES limits.',
    () => fanOut.groupBytes,
  );
  metrics.gauge('event_groups', 'Groups of event streams that get the same.', () => fanOut.groups);
  metrics.gauge(
    'event_cohorts',
    'Sets of event streams of a group that are at the same place of the event log.',
    () => fanOut.cohorts,
  );
  metrics.gauge(
    'event_streams_lagging',
    'Event streams that get no more events until their readers have caught up.',
    () => fanOut.lagging,
  );
  metrics.gauge(
    'event_streams_catching_up',
    'Event streams that are waiting to read events from before they were opened.',
    () => fanOut.catchingUp,
  );
}
