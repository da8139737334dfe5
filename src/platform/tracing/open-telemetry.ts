import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Logger } from '../log.ts';
import { newId } from '../uuid.ts';
import { countedExport } from './counted-export.ts';
import { RecordedSpan, type Recorder } from './recorded-span.ts';
import type { TracingSettings } from './settings.ts';
import { parseTraceparent } from './span.ts';
import { newOutcomes, type Tracing } from './tracing.ts';

/** Nobody may have to wait longer for a stop because a collector is slow. */
const CLOSE_MS = 2_000;

/** Traces that go to a collector. */
export function openTracing(settings: TracingSettings, version: string, log: Logger): Tracing {
  const { url, headers, timeoutMs, resource, ratio, parentBased, queue } = settings;
  const outcomes = newOutcomes();
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: timeoutMs });
  const processor = countedExport({ exporter, queue, timeoutMs, outcomes, log });
  const recorder: Recorder = {
    resource: resourceFromAttributes({
      'service.version': version,
      'service.instance.id': newId(),
      ...resource,
    }),
    scope: { name: 'content-graph', version },
    onEnd: (span) => processor.onEnd(span),
  };

  return {
    outcomes,
    begin(name, header, trusted) {
      const parent = parseTraceparent(header);
      // Not by the trace id: a client could choose one that is always sampled.
      const isSampled =
        parent !== undefined && trusted && parentBased ? parent.sampled : Math.random() < ratio;
      if (!isSampled) return { traceId: parent?.traceId, span: undefined };
      const span = RecordedSpan.begin(recorder, name, { kind: 'server' }, parent);
      return { traceId: span.traceId, span };
    },
    follow(name, cause, options = {}) {
      const parent = parseTraceparent(cause);
      return parent?.sampled === true ? RecordedSpan.follow(recorder, name, options, parent) : undefined;
    },
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MS);
      // A failed export has been told of already.
      processor.shutdown().then(resolve, () => resolve());
      await promise;
      clearTimeout(timer);
    },
  };
}
