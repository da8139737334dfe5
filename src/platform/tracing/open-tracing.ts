import type { TracingSettings } from '../config/config.ts';
import type { Logger } from '../log/log.ts';
import { FastCounter } from '../metrics/instruments.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracing } from './tracing.ts';

type SpanOutcome = 'exported' | 'failed' | 'dropped';

function createOutcomes(): FastCounter {
  const outcomes = new FastCounter();
  for (const outcome of ['exported', 'failed', 'dropped'] satisfies SpanOutcome[])
    outcomes.add(outcome, '', 0);
  return outcomes;
}

/** Without settings, the OpenTelemetry SDK is not loaded, and the result is undefined. */
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
  metrics.readCounter(
    'content_graph_trace_spans_total',
    'Ended spans of sampled traces: exported, failed at the collector, or dropped from a full queue.',
    ['outcome'],
    tracing?.outcomes ?? createOutcomes(),
  );
}
