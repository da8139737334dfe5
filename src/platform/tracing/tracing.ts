import type { SpanKind } from '@opentelemetry/api';
import type { FastCounter } from '../metrics/instruments.ts';

/** The attributes of a span, named by OpenTelemetry's semantic conventions. They have no variable, no credential and no IP address of a client. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** `INTERNAL` by default. */
  readonly kind?: keyof typeof SpanKind;
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
  /** Call it when the response is made: its id is then removed from the index of traces. */
  readonly forget: () => void;
}

/** The traces of a service. Modules begin spans by hand, and only where a trace is sampled. */
export interface Tracing {
  /**
   * Begins the trace of a request, or continues the trace of its `traceparent`. A trusted peer decides whether the trace is
   * sampled. For other clients it is drawn, because otherwise a client could have all of its requests exported.
   */
  begin(name: string, traceparent: string | null, trusted: boolean): Pick<RequestTrace, 'traceId' | 'span'>;
  /** @returns A span below its cause and linked to the cause, or undefined if the cause is not sampled. */
  follow(name: string, cause: string, options?: SpanOptions): Span | undefined;
  /** Ended spans that were exported, that the exporter failed on, and that found the queue full. */
  readonly outcomes: FastCounter;
  /** Exports the spans that have ended, within two seconds. Never rejects. */
  close(): Promise<void>;
}
