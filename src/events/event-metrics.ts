import type { Listener } from '../platform/db/listener.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { LogWatch } from './log-watch.ts';

/** Has the metrics tell whether events of all instances can be read. */
export function registerEventMetrics(
  metrics: Metrics,
  { logWatch, listener }: { readonly logWatch: LogWatch; readonly listener: Listener },
): void {
  metrics.gauge(
    'event_held_seconds',
    'Age of the oldest committed event that cannot be read yet, because an older transaction is still open on the server; 0 if there is none.',
    () => logWatch.heldSeconds,
  );
  metrics.gauge(
    'event_notifications_connected',
    'Whether the connection for wake-ups between instances is open (1), or not needed (embedded database, 1).',
    () => (listener.connected ? 1 : 0),
  );
}
