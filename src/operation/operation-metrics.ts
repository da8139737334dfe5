import { eventLoop } from '../platform/event-loop.ts';
import type { Line } from '../platform/line.ts';
import type { Metrics } from '../platform/metrics.ts';

/** The lines in which operations wait for their places. */
interface OperationLines {
  readonly line: Line;
  readonly writeLine: Line;
  readonly eventLine: Line;
}

/** Has the metrics tell how many operations are running and waiting. */
export function registerOperationMetrics(
  metrics: Metrics,
  { line, writeLine, eventLine }: OperationLines,
): void {
  metrics.gauge('graphql_operations_running', 'Operations that are running.', () => line.inside);
  metrics.gauge('graphql_operations_waiting', 'Operations that are waiting for a slot.', () => line.waiting);
  metrics.gauge(
    'graphql_transactions_running',
    'Mutation transactions that are running.',
    () => writeLine.inside,
  );
  metrics.gauge(
    'graphql_transactions_waiting',
    'Mutations that are waiting for a transaction slot.',
    () => writeLine.waiting,
  );
  metrics.gauge(
    'event_executions_running',
    'Reads and executions of events that are running.',
    () => eventLine.inside,
  );
  metrics.gauge(
    'event_executions_waiting',
    'Reads and executions of events that are waiting for a slot.',
    () => eventLine.waiting,
  );
  metrics.gauge(
    'event_loop_waiting',
    'Requests and results that are waiting for their turn on the event loop.',
    () => eventLoop.line.waiting,
  );
}
