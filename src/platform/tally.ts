import type { Metric, Registry } from 'prom-client';

type Labels<L extends string> = Readonly<Partial<Record<L, string | number>>>;

const NONE: Labels<never> = {};

/** A number that grows, one for each combination of label values. */
export interface Tally<L extends string> {
  inc(labels?: Labels<L>, by?: number): void;
}

/** How many observations were how large, for each combination of label values. */
export interface Distribution<L extends string> {
  observe(value: number, labels?: Labels<L>): void;
}

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

export interface TallyOptions<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
}

/**
 * The values kept by their labels. prom-client's own counters sort and join the labels of every call, which costs more
 * than some requests do; these hold plain numbers and tell the registry of them when it is read.
 */
function byLabels<L extends string, Kept>(labelNames: readonly L[], make: () => Kept) {
  const kept = new Map<string, { readonly labels: Labels<L>; readonly kept: Kept }>();
  return {
    of(labels: Labels<L>): Kept {
      let key = labelNames.length === 0 ? '' : `${labels[labelNames[0] as L]}`;
      for (let index = 1; index < labelNames.length; index += 1) key += `\n${labels[labelNames[index] as L]}`;
      let found = kept.get(key);
      if (found === undefined) {
        found = { labels: { ...labels }, kept: make() };
        kept.set(key, found);
      }
      return found.kept;
    },
    samples: (read: (kept: Kept, labels: Record<string, string | number>) => Sample[]): Sample[] =>
      [...kept.values()].flatMap((entry) =>
        read(entry.kept, entry.labels as Record<string, string | number>),
      ),
  };
}

function register<L extends string>(
  { registry, name, help }: TallyOptions<L>,
  type: 'counter' | 'histogram',
  values: () => Sample[],
): void {
  const metric = {
    name,
    help,
    type,
    get: async () => ({ name, help, type, values: values(), aggregator: 'sum' }),
    reset: () => undefined,
  };
  // What the registry asks of a metric; prom-client's types only know its own classes.
  registry.registerMetric(metric as unknown as Metric<string>);
}

/** A counter in a registry. Without labels it is there from the start, at 0. */
export function createTally<L extends string>(options: TallyOptions<L>): Tally<L> {
  const values = byLabels(options.labelNames, () => ({ count: 0 }));
  if (options.labelNames.length === 0) values.of(NONE);
  register(options, 'counter', () => values.samples(({ count }, labels) => [{ labels, value: count }]));
  return {
    inc(labels = NONE, by = 1) {
      values.of(labels).count += by;
    },
  };
}

/** A histogram in a registry; `bounds` are the upper bounds of its buckets, in ascending order. */
export function createDistribution<L extends string>(
  options: TallyOptions<L>,
  bounds: readonly number[],
): Distribution<L> {
  const { name, labelNames } = options;
  const values = byLabels(labelNames, () => ({
    sum: 0,
    counts: new Array<number>(bounds.length + 1).fill(0),
  }));
  if (labelNames.length === 0) values.of(NONE);
  register(options, 'histogram', () =>
    values.samples(({ sum, counts }, labels) => {
      let total = 0;
      const buckets = counts.map((count, index): Sample => {
        total += count;
        return {
          labels: { le: bounds[index] ?? '+Inf', ...labels },
          value: total,
          metricName: `${name}_bucket`,
        };
      });
      return [
        ...buckets,
        { labels, value: sum, metricName: `${name}_sum` },
        { labels, value: total, metricName: `${name}_count` },
      ];
    }),
  );
  return {
    observe(value, labels = NONE) {
      const found = values.of(labels);
      let bucket = 0;
      while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
      found.counts[bucket] = (found.counts[bucket] as number) + 1;
      found.sum += value;
    },
  };
}
