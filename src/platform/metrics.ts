import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one service. Its parts register their own with `counter`, `gauge` and `histogram`. */
export interface Metrics {
  readonly registry: Registry;
  counter<L extends string>(name: string, help: string, labelNames?: readonly L[]): Counter<L>;
  gauge(name: string, help: string, collect?: () => number): Gauge;
  histogram<L extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames?: readonly L[],
  ): Histogram<L>;
}

/**
 * Uses its own registry instead of prom-client's global one, so that one process can hold several services.
 */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    counter: (name, help, labelNames = []) => new Counter({ registers: [registry], name, help, labelNames }),
    gauge: (name, help, collect) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        ...(collect === undefined
          ? {}
          : {
              collect(this: Gauge) {
                this.set(collect());
              },
            }),
      }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ registers: [registry], name, help, labelNames, buckets: [...buckets] }),
  };
}
