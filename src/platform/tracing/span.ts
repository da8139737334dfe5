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
  /** Whether a trusted peer decides if the traces that it has begun are sampled. */
  readonly parentBased: boolean;
  /** Ended spans that wait for the collector. */
  readonly queue: { readonly most: number; readonly batch: number; readonly delayMs: number };
}

/** OpenTelemetry's own variables, as they are set. */
export interface GivenTracing extends Pick<TracingSettings, 'headers' | 'timeoutMs' | 'queue'> {
  /** Of a collector for all signals, and of what takes traces alone. */
  readonly endpoint: string | undefined;
  readonly tracesEndpoint: string | undefined;
  readonly exporter: string;
  readonly serviceName: string | undefined;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: string;
  readonly samplerArg: number;
}

/** Where OTLP over HTTP is posted, below the endpoint for all signals. */
const TRACES = 'v1/traces';
const DEFAULT_NAME = 'content-graph';

/** Undefined if no traces are exported. */
export function tracingOf(given: GivenTracing): TracingSettings | undefined {
  const { endpoint, tracesEndpoint, headers, timeoutMs, sampler, samplerArg, queue } = given;
  const url = tracesEndpoint ?? (endpoint && `${endpoint.replace(/\/+$/, '')}/${TRACES}`);
  if (url === undefined || given.exporter === 'none') return undefined;
  const { 'service.name': named = DEFAULT_NAME, ...resource } = given.resource;
  const isRatio = sampler.endsWith('traceidratio');
  return {
    url,
    headers,
    timeoutMs,
    resource: { ...resource, 'service.name': given.serviceName ?? named },
    ratio: isRatio ? samplerArg : Number(sampler.endsWith('always_on')),
    parentBased: sampler.startsWith('parentbased_'),
    queue: { ...queue, batch: Math.min(queue.batch, queue.most) },
  };
}
