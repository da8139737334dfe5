import type { TracingSettings } from '../config/config.ts';
import type { Logger } from '../log/log.ts';
import { Tally } from '../metrics/instruments.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from './tracing.ts';

type SpanOutcome = 'exported' | 'failed' | 'dropped';

function createOutcomes(): Tally {
  const outcomes = new Tally();
  for (const outcome of ['exported', 'failed', 'dropped'] satisfies SpanOutcome[])
    outcomes.add(outcome, '', 0);
  return outcomes;
}

/** Sends traces to a collector. Returns undefined without settings, and does not load the OpenTelemetry SDK then. */
export async function openTracing(
  settings: TracingSettings | undefined,
  version: string,
  log: Logger,
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { createSdkTracing } = await import('./sdk-tracing.ts');
  return createSdkTracing(settings, { version, log, outcomes: createOutcomes() });
}

export function registerTracing(metrics: Metrics, tracing: Pick<Tracing, 'outcomes'> | undefined): void {
  metrics.readTally(
    'trace_spans_total',
    'Spans of sampled traces that have ended: exported, failed where the collector did not take them, or dropped where too many were waiting for it.',
    ['outcome'],
    tracing?.outcomes ?? createOutcomes(),
  );
}
