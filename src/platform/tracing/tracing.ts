import type { SpanKind } from '@opentelemetry/api';
import type { FastCounter } from '../metrics/instruments.ts';

/**
 * Attributes have names of OpenTelemetry's semantic conventions and contain no variables, credentials or IP
 * addresses of clients.
 */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  readonly kind?: keyof typeof SpanKind;
  readonly attributes?: Attributes;
}

/** A span that never ends is never exported. */
export interface Span {
  readonly traceId: string;
  /** The header value for other services (W3C Trace Context §3.2). */
  readonly traceparent: string;
  child(name: string, options?: SpanOptions): Span;
  /** @param error a value from a closed set, such as an error code; undefined on success */
  end(attributes?: Attributes, error?: string): void;
}

export interface RequestTrace {
  /** Undefined if the client sent no trace id and the trace is not sampled. */
  readonly traceId: string | undefined;
  readonly span: Span | undefined;
  /** Undefined without a socket. */
  readonly httpVersion: string | undefined;
  /** Removes the request from the index of traces when the response is complete. */
  readonly forget: () => void;
}

export interface Tracing {
  /**
   * A trusted peer decides about the sampling of its traces. For other clients, the decision is random,
   * because otherwise a client could have all of its requests exported.
   */
  begin(name: string, traceparent: string | null, trusted: boolean): Pick<RequestTrace, 'traceId' | 'span'>;
  /** @returns undefined if the cause is not sampled */
  follow(name: string, cause: string, options?: SpanOptions): Span | undefined;
  readonly outcomes: FastCounter;
  /** Exports the ended spans within two seconds. Never rejects. */
  close(): Promise<void>;
}
