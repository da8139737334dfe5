import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { createDistribution, createTally, type Distribution, type Tally } from './tally.ts';

/** The metrics of one service in one process. Later concerns add theirs through `counter`, `gauge` and `histogram`. */
export interface Metrics {
  readonly registry: Registry;
  counter<L extends string>(name: string, help: string, labelNames?: readonly L[]): Tally<L>;
  gauge(name: string, help: string, collect?: () => number): Gauge;
  histogram<L extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames?: readonly L[],
  ): Distribution<L>;
}

/** A registry of its own, never prom-client's global one, so that several services can live in one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    counter: (name, help, labelNames = []) => createTally({ registry, name, help, labelNames }),
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
      createDistribution({ registry, name, help, labelNames }, buckets),
  };
}
