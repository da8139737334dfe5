import type { TracingSettings } from './settings.ts';
import type { SpanOptions } from './span.ts';

/** The ids of a span. */
export interface SpanIds {
  readonly traceId: string;
  readonly spanId: string;
}

/** A span that has ended, as data: it goes to the thread that exports it. */
export interface SpanRecord extends SpanIds {
  readonly name: string;
  readonly kind: NonNullable<SpanOptions['kind']>;
  /** The id of its parent in its trace; undefined if it is the first. */
  readonly parentId: string | undefined;
  /** Whether that is a span of another process, or may be. */
  readonly parentIsRemote: boolean;
  /** The span that led to it, if it is not only its parent. */
  readonly link: SpanIds | undefined;
  /** In milliseconds since 1970, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly failed: boolean;
}

/** What the exporting thread is started with. */
export interface ExporterOptions extends Pick<TracingSettings, 'url' | 'headers' | 'timeoutMs'> {
  /** The name and version of what makes the spans. */
  readonly scope: { readonly name: string; readonly version: string };
  /** What all spans say of the process. */
  readonly resource: Readonly<Record<string, string>>;
}

/** Why a batch was not exported. */
export interface ExportFailure {
  readonly name: string;
  /** The status of the collector's answer, or the code of a failed connection, if there is one. */
  readonly code: string | number | undefined;
  readonly message: string;
}

/** What came of a batch: the thread answers them in the order in which it gets them. */
export interface Exported {
  /** Node sends messages of its own from threads, under `--watch`. */
  readonly kind: 'exported';
  /** Undefined if the collector took it. */
  readonly failure: ExportFailure | undefined;
}
