import type { Variables } from '../setting-table.ts';

/** How traces are sampled and where they go. */
export interface TracingSettings {
  /** Where spans are posted as OTLP. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** What all spans say of the process. */
  readonly resource: Readonly<Record<string, string>>;
  /** Of the traces that begin here, 0 to 1. */
  readonly ratio: number;
  /** Whether a trusted peer says whether the traces are sampled that it has begun. */
  readonly parentBased: boolean;
  readonly queue: { readonly most: number; readonly batch: number; readonly delayMs: number };
}

/** Where OTLP is posted below an endpoint for all signals. */
const TRACES_PATH = 'v1/traces';
const DEFAULT_NAME = 'content-graph';

/** Undefined if no traces are exported. */
export function tracingOf(v: Variables): TracingSettings | undefined {
  const base = v.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/?$/, `/${TRACES_PATH}`);
  const url = v.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? base;
  if (url === undefined || v.OTEL_SDK_DISABLED || v.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const { 'service.name': named = DEFAULT_NAME, ...resource } = v.OTEL_RESOURCE_ATTRIBUTES;
  const parentBased = v.OTEL_TRACES_SAMPLER.startsWith('parentbased_');
  const drawn = { always_on: 1, always_off: 0, traceidratio: v.OTEL_TRACES_SAMPLER_ARG };
  const [, sampler = ''] = /^(?:parentbased_)?(\w+)$/.exec(v.OTEL_TRACES_SAMPLER) ?? [];
  return {
    url,
    headers: v.OTEL_EXPORTER_OTLP_HEADERS,
    timeoutMs: v.OTEL_EXPORTER_OTLP_TIMEOUT,
    resource: { ...resource, 'service.name': v.OTEL_SERVICE_NAME ?? named },
    ratio: drawn[sampler as keyof typeof drawn],
    parentBased,
    queue: {
      most: v.OTEL_BSP_MAX_QUEUE_SIZE,
      batch: Math.min(v.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, v.OTEL_BSP_MAX_QUEUE_SIZE),
      delayMs: v.OTEL_BSP_SCHEDULE_DELAY,
    },
  };
}

/** What is wrong with the settings together. */
export function tracingProblems(v: Variables): string[] {
  const isSet = v.OTEL_EXPORTER_OTLP_ENDPOINT ?? v.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  return isSet === undefined || v.OTEL_EXPORTER_OTLP_PROTOCOL === 'http/protobuf'
    ? []
    : [
        'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, which collectors take on port 4318: the service has no other.',
      ];
}
