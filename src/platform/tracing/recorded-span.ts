import {
  type HrTime,
  type Link,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
} from '@opentelemetry/api';
import type { InstrumentationScope } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import { RandomIdGenerator, type ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Attributes, Span, SpanOptions, TraceParent } from './span.ts';

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const ids = new RandomIdGenerator();

/** What all spans of a process have in common. */
export interface Recorder {
  readonly resource: Resource;
  readonly scope: InstrumentationScope;
  /** Takes a span that has ended. */
  onEnd(span: ReadableSpan): void;
}

function toHrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  const nanos = Math.round((ms - seconds * 1_000) * 1_000_000);
  return nanos < 1_000_000_000 ? [seconds, nanos] : [seconds + 1, 0];
}

/** A span of another process, which is sampled. */
const remote = ({ traceId, spanId }: TraceParent): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

/**
 * A sampled span, in the form in which exporters read it. The SDK's own spans take about twice as long to make: what
 * exporters need is worked out here when they ask for it (decision 44).
 */
export class RecordedSpan implements Span, ReadableSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly parentSpanContext?: SpanContext;
  readonly links: Link[];
  attributes: Record<string, string | number | boolean> = {};
  status: ReadableSpan['status'] = { code: SpanStatusCode.UNSET };
  ended = false;
  readonly #recorder: Recorder;
  readonly #context: SpanContext;
  /** From the clock that does not jump to the time of day: the same for all spans below the first. */
  readonly #offsetMs: number;
  readonly #startMs = performance.now();
  #endMs = 0;

  private constructor(
    recorder: Recorder,
    name: string,
    { kind = 'internal', attributes }: SpanOptions,
    from: { readonly parent?: SpanContext | undefined; readonly links?: Link[]; readonly offsetMs?: number },
  ) {
    const { parent, links = [], offsetMs } = from;
    this.#recorder = recorder;
    this.name = name;
    this.kind = KINDS[kind];
    if (parent !== undefined) this.parentSpanContext = parent;
    this.links = links;
    this.#context = {
      traceId: parent?.traceId ?? ids.generateTraceId(),
      spanId: ids.generateSpanId(),
      traceFlags: TraceFlags.SAMPLED,
    };
    this.#offsetMs = offsetMs ?? Date.now() - this.#startMs;
    this.#set(attributes);
  }

  /** The first span of a trace in this process, below one of another if there is a parent. */
  static begin(recorder: Recorder, name: string, options: SpanOptions, parent?: TraceParent): RecordedSpan {
    return new RecordedSpan(recorder, name, options, { parent: parent && remote(parent) });
  }

  /** The same below a span that has caused it, and linked to it. */
  static follow(recorder: Recorder, name: string, options: SpanOptions, cause: TraceParent): RecordedSpan {
    const parent = remote(cause);
    return new RecordedSpan(recorder, name, options, { parent, links: [{ context: parent }] });
  }

  get traceId(): string {
    return this.#context.traceId;
  }

  get traceparent(): string {
    return `00-${this.#context.traceId}-${this.#context.spanId}-01`;
  }

  child(name: string, options: SpanOptions = {}): Span {
    return new RecordedSpan(this.#recorder, name, options, {
      parent: this.#context,
      offsetMs: this.#offsetMs,
    });
  }

  #set(attributes: Attributes | undefined): void {
    for (const name in attributes) {
      const value = attributes[name];
      if (value !== undefined) this.attributes[name] = value;
    }
  }

  end(attributes?: Attributes, error?: string): void {
    if (this.ended) return;
    this.ended = true;
    this.#endMs = performance.now();
    this.#set(attributes);
    if (error !== undefined) {
      this.attributes['error.type'] = error;
      this.status = { code: SpanStatusCode.ERROR };
    }
    this.#recorder.onEnd(this);
  }

  spanContext(): SpanContext {
    return this.#context;
  }

  get startTime(): HrTime {
    return toHrTime(this.#startMs + this.#offsetMs);
  }

  get endTime(): HrTime {
    return toHrTime(this.#endMs + this.#offsetMs);
  }

  get duration(): HrTime {
    return toHrTime(this.#endMs - this.#startMs);
  }

  get resource(): Resource {
    return this.#recorder.resource;
  }

  get instrumentationScope(): InstrumentationScope {
    return this.#recorder.scope;
  }

  readonly events: ReadableSpan['events'] = [];
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
}
