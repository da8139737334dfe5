import { setTimeout as delay } from 'node:timers/promises';
import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, TracerProvider } from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../config/config.ts';
import { newId } from '../ids.ts';
import { createSpanExport, type ExportReport } from './span-export.ts';
import type { Attributes, Span, SpanOptions, Tracing } from './tracing.ts';

const CLOSE_MS = 2_000;

interface Place {
  readonly parent: Context;
  readonly links?: Link[];
  /** The SDK rounds start times to milliseconds, so spans use monotonic time plus this offset. */
  readonly offsetMs: number;
}

class RecordedSpan implements Span {
  readonly #tracer: Tracer;
  readonly #span: SdkSpan;
  readonly #offsetMs: number;

  constructor(
    tracer: Tracer,
    name: string,
    { kind = 'INTERNAL', attributes = {} }: SpanOptions,
    place: Place,
  ) {
    const { parent, links = [], offsetMs } = place;
    const startTime = offsetMs + performance.now();
    this.#tracer = tracer;
    this.#span = tracer.startSpan(name, { kind: SpanKind[kind], attributes, links, startTime }, parent);
    this.#offsetMs = offsetMs;
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get traceparent(): string {
    return `00-${this.traceId}-${this.#span.spanContext().spanId}-01`;
  }

  child(name: string, options: SpanOptions = {}): Span {
    const parent = trace.setSpan(ROOT_CONTEXT, this.#span);
    return new RecordedSpan(this.#tracer, name, options, { parent, offsetMs: this.#offsetMs });
  }

  end(attributes: Attributes = {}, error?: string): void {
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(attributes);
    if (error !== undefined)
      this.#span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end(this.#offsetMs + performance.now());
  }
}

const isSampled = ({ traceFlags }: SpanContext) => (traceFlags & TraceFlags.SAMPLED) !== 0;

const placeBelow = (parent: SpanContext | null): Place => ({
  parent: parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }),
  offsetMs: Date.now() - performance.now(),
});

/** Importing this module loads the OpenTelemetry SDK, so import only if traces are exported. */
export function createSdkTracing(
  settings: TracingSettings,
  { version, ...report }: ExportReport & { readonly version: string },
): Tracing {
  const { resource, ratio, parentBased } = settings;
  const about = { 'service.version': version, 'service.instance.id': newId(), ...resource };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(about),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [createSpanExport(settings, report)],
  });
  const tracer = provider.getTracer('content-graph', version);
  return {
    outcomes: report.outcomes,
    begin(name, traceparent, trusted) {
      const parent = parseTraceParent(traceparent ?? '');
      // The samplers of the SDK use the trace id, but a client could choose an id that is always sampled.
      const sampled = parent !== null && trusted && parentBased ? isSampled(parent) : Math.random() < ratio;
      if (!sampled) return { traceId: parent?.traceId, span: undefined };
      const span = new RecordedSpan(tracer, name, { kind: 'SERVER' }, placeBelow(parent));
      return { traceId: span.traceId, span };
    },
    follow(name, cause, options = {}) {
      const parent = parseTraceParent(cause);
      if (parent === null || !isSampled(parent)) return undefined;
      return new RecordedSpan(tracer, name, options, { ...placeBelow(parent), links: [{ context: parent }] });
    },
    async close() {
      // The exporter has already counted and logged its failures.
      const flushed = provider.shutdown().catch(() => undefined);
      await Promise.race([flushed, delay(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
