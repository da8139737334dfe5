/**
 * The thread that exports spans: OpenTelemetry's exporter, with its HTTP client, its encoding and its retries, beside the
 * thread that answers requests (decision 44).
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Exported, ExporterOptions, ExportFailure, SpanIds, SpanRecord } from './span-record.ts';

type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number];

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const { url, headers, timeoutMs, scope, resource: about } = workerData as ExporterOptions;
const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: timeoutMs });
const resource = resourceFromAttributes(about);

function toHrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  const nanos = Math.round((ms - seconds * 1_000) * 1_000_000);
  return nanos < 1_000_000_000 ? [seconds, nanos] : [seconds + 1, 0];
}

const contextOf = ({ traceId, spanId }: SpanIds, isRemote: boolean): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote,
});

/** A span in the form in which exporters read it. */
function readable({ parentId, parentIsRemote, link, startMs, endMs, ...span }: SpanRecord): ReadableSpan {
  const context = contextOf(span, false);
  const { traceId, name, kind, attributes, failed } = span;
  const parent =
    parentId === undefined ? undefined : contextOf({ traceId, spanId: parentId }, parentIsRemote);
  return {
    name,
    kind: KINDS[kind],
    attributes,
    spanContext: () => context,
    ...(parent === undefined ? {} : { parentSpanContext: parent }),
    startTime: toHrTime(startMs),
    endTime: toHrTime(endMs),
    duration: toHrTime(endMs - startMs),
    status: { code: failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
    links: link === undefined ? [] : [{ context: contextOf(link, true) }],
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** In words: an error loses its fields on the way to another thread. */
function failureOf(error: Error & { readonly code?: string | number }): ExportFailure {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [];
  const { name, code } = error;
  return { name, code, message: error.message || first?.message || 'the export failed' };
}

/** The exporter's own limit begins when it is connected. */
function limited(): { readonly limit: Promise<ExportFailure>; clear(): void } {
  const { promise, resolve } = Promise.withResolvers<ExportFailure>();
  const failure = { name: 'TimeoutError', code: undefined, message: `no answer within ${timeoutMs} ms` };
  const timer = setTimeout(resolve, timeoutMs, failure);
  return { limit: promise, clear: () => clearTimeout(timer) };
}

async function exported(spans: readonly SpanRecord[]): Promise<Exported> {
  const sent = new Promise<ExportFailure | undefined>((resolve) => {
    exporter.export(spans.map(readable), ({ code, error }) =>
      resolve(code === ExportResultCode.SUCCESS ? undefined : failureOf(error ?? new Error())),
    );
  });
  const { limit, clear } = limited();
  const failure = await Promise.race([sent, limit]);
  clear();
  return { kind: 'exported', failure };
}

/** One batch at a time: whoever counts them knows which one an answer is for. */
let turn: Promise<unknown> = Promise.resolve();
parentPort?.on('message', (spans: readonly SpanRecord[]) => {
  turn = turn.then(async () => parentPort?.postMessage(await exported(spans)));
});
