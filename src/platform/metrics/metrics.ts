import { totalmem } from 'node:os';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type HistogramConfiguration,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client';
import type { Build } from '../process.ts';
import { FastCounter, FastHistogram, LabelledHistogram } from './instruments.ts';

type Labels = Readonly<Record<string, string | number>>;

type ReadHistograms = () => Iterable<readonly [Labels, FastHistogram]>;

/** Reads its values from another object at each scrape. */
class ReadHistogram extends Histogram<string> {
  readonly #read: ReadHistograms;
  readonly #empty: Histogram<string>;

  constructor(options: HistogramConfiguration<string>, read: ReadHistograms) {
    super(options);
    this.#read = read;
    this.#empty = new Histogram({ ...options, registers: [] });
  }

  override async get() {
    const empty = await this.#empty.get();
    const { name } = empty;
    const values = [...this.#read()].flatMap(([labels, { bounds, counts, sum, exemplars }]) => {
      let count = 0;
      const buckets = counts.map((inBucket, index) => {
        count += inBucket;
        const le = bounds[index] ?? '+Inf';
        const bucket = { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
        const of = exemplars[index];
        if (of === undefined) return bucket;
        const exemplar = { labelSet: { trace_id: of.traceId }, value: of.seconds, timestamp: of.atSeconds };
        return { ...bucket, exemplar };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ];
    });
    return { ...empty, values };
  }

  /** prom-client calls this method for the text format instead of `get`. */
  async getForPromString() {
    return this.get();
  }
}

let processMetrics: Registry | undefined;

/**
 * All services in the process share these metrics. Each call of `collectDefaultMetrics` starts a timer and a
 * garbage collection observer that never stop. The observer retains the registry and everything that the
 * registry reads.
 */
function findProcessMetrics(): Registry {
  if (processMetrics === undefined) {
    processMetrics = new Registry();
    collectDefaultMetrics({ register: processMetrics });
  }
  return processMetrics;
}

/** The service does not use prom-client's global registry, so that one process can run several services. */
export function createMetrics() {
  const registry = Registry.merge([findProcessMetrics()]);

  function readHistogram(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: ReadHistograms,
  ): void {
    new ReadHistogram({ registers: [registry], name, help, labelNames }, read);
  }

  function readCounter(
    name: string,
    help: string,
    [first, second]: readonly [string, string?],
    counter: FastCounter,
  ): void {
    new Counter({
      registers: [registry],
      name,
      help,
      labelNames: second === undefined ? [first] : [first, second],
      collect() {
        this.reset();
        for (const [one, other, count] of counter.entries())
          this.inc(second === undefined ? { [first]: one } : { [first]: one, [second]: other }, count);
      },
    });
  }

  return {
    registry,
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter({ registers: [registry], name, help, labelNames }),
    /** A call of prom-client's counter costs a microsecond, which is too much for every request. */
    fastCounter(name: string, help: string, labelNames: readonly [string, string?]): FastCounter {
      const counter = new FastCounter();
      readCounter(name, help, labelNames, counter);
      return counter;
    },
    readCounter,
    gauge: (name: string, help: string, collect: () => number) =>
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(collect());
        },
      }),
    gauges(
      name: string,
      help: string,
      label: string,
      collect: () => Iterable<readonly [string, number]>,
    ): void {
      new Gauge({
        registers: [registry],
        name,
        help,
        labelNames: [label],
        collect() {
          this.reset();
          for (const [value, count] of collect()) this.set({ [label]: value }, count);
        },
      });
    },
    fastHistogram(name: string, help: string, bounds: readonly number[]): FastHistogram {
      const histogram = new FastHistogram(bounds);
      readHistogram(name, help, [], () => [[{}, histogram]]);
      return histogram;
    },
    labelledHistogram(
      name: string,
      help: string,
      bounds: readonly number[],
      label: string,
    ): LabelledHistogram {
      const histogram = new LabelledHistogram(bounds);
      readHistogram(name, help, [label], function* () {
        for (const [value, of] of histogram.entries()) yield [{ [label]: value }, of] as const;
      });
      return histogram;
    },
    readHistogram,
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * prom-client removes `_total` from the names of counters in an OpenMetrics registry. Therefore the new
 * registry has objects that inherit from the counters.
 */
export function createOpenMetricsRegistry(registry: Registry): Registry<OpenMetricsContentType> {
  const openMetrics = new Registry<OpenMetricsContentType>();
  openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name);
    if (metric === undefined) continue;
    const registered: Metric = metric instanceof Counter ? Object.create(metric) : metric;
    openMetrics.registerMetric(registered);
  }
  return openMetrics;
}

function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

export function registerBuildInfo(metrics: Metrics, { version, commit }: Build): void {
  metrics.gauge(
    'content_graph_memory_limit_bytes',
    'Memory limit of the control group, or memory of the machine.',
    memoryLimit,
  );
  new Gauge({
    registers: [metrics.registry],
    name: 'content_graph_build_info',
    help: 'Versions of the service and of Node.js, and commit. Always 1.',
    labelNames: ['version', 'commit', 'node'],
  }).set({ version, commit: commit ?? '', node: process.versions.node }, 1);
}
