import {
  type Link,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Logger } from '../log.ts';
import { countedExport } from './counted-export.ts';
import type { TracingSettings } from './settings.ts';
import { parseTraceparent, type Span, type SpanOptions, type TraceParent } from './span.ts';
import { newOutcomes, type Tracing } from './tracing.ts';

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;
/** Nobody may have to wait longer for a stop because a collector is slow. */
const CLOSE_MS = 2_000;

/** What the API takes for a span of another process that is sampled. */
const remote = ({ traceId, spanId }: TraceParent) => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

class OpenSpan implements Span {
  readonly #tracer: Tracer;
  readonly #span: OtelSpan;

  constructor(tracer: Tracer, span: OtelSpan) {
    this.#tracer = tracer;
    this.#span = span;
  }

  static begin(
    tracer: Tracer,
    name: string,
    { kind = 'internal', attributes = {} }: SpanOptions,
    { parent, links = [] }: { readonly parent?: TraceParent | undefined; readonly links?: Link[] },
  ): OpenSpan {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote(parent));
    return new OpenSpan(tracer, tracer.startSpan(name, { kind: KINDS[kind], attributes, links }, context));
  }

  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }

  child(name: string, { kind = 'internal', attributes = {} }: SpanOptions = {}): Span {
    const context = trace.setSpan(ROOT_CONTEXT, this.#span);
    return new OpenSpan(
      this.#tracer,
      this.#tracer.startSpan(name, { kind: KINDS[kind], attributes }, context),
    );
  }

  end(attributes: SpanOptions['attributes'] = {}, error?: string): void {
    for (const [name, value] of Object.entries(attributes))
      if (value !== undefined) this.#span.setAttribute(name, value);
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** Traces that go to a collector. */
export function openTracing(settings: TracingSettings, version: string, log: Logger): Tracing {
  const { url, headers, timeoutMs, resource, ratio, parentBased, queue } = settings;
  const outcomes = newOutcomes();
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: timeoutMs });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.version': version,
      'service.instance.id': new RandomIdGenerator().generateTraceId(),
      ...resource,
    }),
    spanProcessors: [countedExport({ exporter, queue, timeoutMs, outcomes, log })],
  });
  const tracer = provider.getTracer('content-graph', version);

  return {
    outcomes,
    begin(name, header, trusted) {
      const parent = parseTraceparent(header);
      // Not by the trace id: a client could choose one that is always sampled.
      const isSampled =
        parent !== undefined && trusted && parentBased ? parent.sampled : Math.random() < ratio;
      if (!isSampled) return parent && { traceId: parent.traceId, span: undefined };
      const span = OpenSpan.begin(tracer, name, { kind: 'server' }, { parent });
      return { traceId: span.traceId, span };
    },
    follow(name, cause, options = {}) {
      const parent = parseTraceparent(cause);
      if (parent?.sampled !== true) return undefined;
      return OpenSpan.begin(tracer, name, options, { parent, links: [{ context: remote(parent) }] });
    },
    async close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, CLOSE_MS);
      // A failed export has been told of already.
      provider.shutdown().then(resolve, () => resolve());
      await promise;
      clearTimeout(timer);
    },
  };
}
