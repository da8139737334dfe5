import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one service in one process. Later concerns add theirs through `counter`, `gauge` and `histogram`. */
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

/** A registry of its own, never prom-client's global one, so that several services can live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    counter: (name, help, labelNames = []) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, collect) =>
      new Gauge({
        name,
        help,
        registers,
        ...(collect === undefined
          ? {}
          : {
              collect(this: Gauge) {
                this.set(collect());
              },
            }),
      }),
    histogram: (name, help, buckets, labelNames = []) =>
      new Histogram({ name, help, buckets: [...buckets], labelNames, registers }),
  };
}
