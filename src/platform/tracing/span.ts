/** The attributes of a span, named by OpenTelemetry's semantic conventions. They have no variable, no credential and no IP address of a client. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** `internal` by default. */
  readonly kind?: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  readonly attributes?: Attributes;
}

/** A step of a trace. It ends once; one that never ends is never exported. */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Names it to others (W3C Trace Context section 3.2). */
  readonly traceparent: string;
  /** Begins a step of it. */
  child(name: string, options?: SpanOptions): Span;
  /** `error` is of a closed set, such as an error code; undefined if it went well. */
  end(attributes?: Attributes, error?: string): void;
}

/** The trace that a request belongs to. */
export interface RequestTrace {
  /** Undefined if nobody knows of it and nobody will. */
  readonly traceId: string | undefined;
  /** Undefined if the trace is not sampled. */
  readonly span: Span | undefined;
  /** Undefined without a socket. */
  readonly httpVersion: string | undefined;
  /** Call it when the request is answered: its id is then removed from the index of traces. */
  readonly forget: () => void;
}

/** A `traceparent`, taken apart. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;

/**
 * Undefined for what is not valid (W3C Trace Context section 3.2.2): such a header counts as absent. Later versions may
 * have more fields.
 */
export function parseTraceparent(text: string | null): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}
