import { randomBytes } from 'node:crypto';
import type { Attributes, Span, SpanOptions, TraceParent } from './span.ts';
import type { SpanIds, SpanRecord } from './span-record.ts';

const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const newId = (bytes: number) => randomBytes(bytes).toString('hex');

/** Takes a span that has ended. */
export type OnEnd = (span: SpanRecord) => void;

interface From {
  readonly parent?: SpanIds | undefined;
  readonly parentIsRemote: boolean;
  readonly link?: SpanIds | undefined;
  /** Added to monotonic time, gives the time of day. The same for all spans of a trace in this process. */
  readonly offsetMs: number;
}

const offset = () => Date.now() - performance.now();

/** A sampled span, of which a record is left when it ends. */
export class RecordedSpan implements Span {
  readonly #onEnd: OnEnd;
  readonly #name: string;
  readonly #kind: SpanRecord['kind'];
  readonly #from: From;
  readonly #ids: SpanIds;
  readonly #startMs = performance.now();
  readonly #attributes: Record<string, string | number | boolean> = {};
  #ended = false;

  private constructor(
    onEnd: OnEnd,
    name: string,
    { kind = 'internal', attributes }: SpanOptions,
    from: From,
  ) {
    this.#onEnd = onEnd;
    this.#name = name;
    this.#kind = kind;
    this.#from = from;
    this.#ids = { traceId: from.parent?.traceId ?? newId(TRACE_ID_BYTES), spanId: newId(SPAN_ID_BYTES) };
    this.#set(attributes);
  }

  /** The first span of a trace in this process, below one of another if there is a parent. */
  static begin(onEnd: OnEnd, name: string, options: SpanOptions, parent?: TraceParent): RecordedSpan {
    return new RecordedSpan(onEnd, name, options, { parent, parentIsRemote: true, offsetMs: offset() });
  }

  /** The same below a span that has caused it, and linked to it. */
  static follow(onEnd: OnEnd, name: string, options: SpanOptions, cause: TraceParent): RecordedSpan {
    const { traceId, spanId } = cause;
    const parent = { traceId, spanId };
    return new RecordedSpan(onEnd, name, options, {
      parent,
      parentIsRemote: true,
      link: parent,
      offsetMs: offset(),
    });
  }

  get traceId(): string {
    return this.#ids.traceId;
  }

  get traceparent(): string {
    return `00-${this.#ids.traceId}-${this.#ids.spanId}-01`;
  }

  child(name: string, options: SpanOptions = {}): Span {
    return new RecordedSpan(this.#onEnd, name, options, {
      parent: this.#ids,
      parentIsRemote: false,
      offsetMs: this.#from.offsetMs,
    });
  }

  #set(attributes: Attributes | undefined): void {
    for (const name in attributes) {
      const value = attributes[name];
      if (value !== undefined) this.#attributes[name] = value;
    }
  }

  end(attributes?: Attributes, error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    const endMs = performance.now();
    this.#set(attributes);
    if (error !== undefined) this.#attributes['error.type'] = error;
    const { parent, parentIsRemote, link, offsetMs } = this.#from;
    this.#onEnd({
      name: this.#name,
      kind: this.#kind,
      traceId: this.#ids.traceId,
      spanId: this.#ids.spanId,
      parentId: parent?.spanId,
      parentIsRemote,
      link,
      startMs: this.#startMs + offsetMs,
      endMs: endMs + offsetMs,
      attributes: this.#attributes,
      failed: error !== undefined,
    });
  }
}
