import type { Logger } from '../log.ts';
import { newId } from '../uuid.ts';
import { RecordedSpan } from './recorded-span.ts';
import type { TracingSettings } from './settings.ts';
import { parseTraceparent } from './span.ts';
import { createSpanExport } from './span-export.ts';
import { newOutcomes, type Tracing } from './tracing.ts';

/** Nobody may have to wait longer for a stop because a collector is slow. */
const CLOSE_MS = 2_000;

/** Traces that go to a collector. Undefined without settings: then nothing of OpenTelemetry's is loaded. */
export function openTracing(
  settings: TracingSettings | undefined,
  version: string,
  log: Logger,
): Tracing | undefined {
  if (settings === undefined) return undefined;
  const { url, headers, timeoutMs, resource, ratio, parentBased, queue } = settings;
  const outcomes = newOutcomes();
  const spans = createSpanExport({
    exporter: {
      url,
      headers,
      timeoutMs,
      scope: { name: 'content-graph', version },
      resource: { 'service.version': version, 'service.instance.id': newId(), ...resource },
    },
    queue,
    outcomes,
    log,
  });
  return {
    outcomes,
    begin(name, header, trusted) {
      const parent = parseTraceparent(header);
      // Not by the trace id: a client could choose one that is always sampled.
      const isSampled =
        parent !== undefined && trusted && parentBased ? parent.sampled : Math.random() < ratio;
      if (!isSampled) return { traceId: parent?.traceId, span: undefined };
      const span = RecordedSpan.begin(spans.add, name, { kind: 'server' }, parent);
      return { traceId: span.traceId, span };
    },
    follow(name, cause, options = {}) {
      const parent = parseTraceparent(cause);
      return parent?.sampled === true ? RecordedSpan.follow(spans.add, name, options, parent) : undefined;
    },
    close: () => spans.close(CLOSE_MS),
  };
}
