import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client';

/** OpenMetrics 1.0. */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** What `ReadHistogram` adds to the values of its buckets. */
interface Sample extends MetricValue<string> {
  readonly metricName?: string;
  readonly exemplar?: {
    readonly labelSet: Readonly<Record<string, string>>;
    readonly value: number;
    readonly timestamp: number;
  } | null;
}

const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' };
const escaped = (text: string) => text.replace(/[\\"\n]/g, (character) => ESCAPED[character] ?? '');
const number = (value: number) =>
  Number.isFinite(value) ? String(value) : String(value).replace('Infinity', 'Inf').replace(/^I/, '+I');

function labelsOf(labels: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',');
}

/** The family of a metric. The name of a counter is that of its values without `_total` (OpenMetrics section 5.1). */
function family({ name, help, type, values }: MetricObjectWithValues<MetricValue<string>>): string[] {
  const isCounter = String(type) === 'counter';
  const named = isCounter ? name.replace(/_total$/, '') : name;
  const lines = [`# TYPE ${named} ${type}`, `# HELP ${named} ${escaped(help)}`];
  const samples: readonly Sample[] = values;
  for (const { metricName = name, labels, value, exemplar } of samples) {
    const shown = isCounter ? `${named}_total` : metricName;
    const of = labelsOf(labels);
    const line = `${shown}${of === '' ? '' : `{${of}}`} ${number(value)}`;
    if (exemplar == null) {
      lines.push(line);
      continue;
    }
    const { labelSet, value: example, timestamp } = exemplar;
    lines.push(`${line} # {${labelsOf(labelSet)}} ${number(example)} ${timestamp.toFixed(3)}`);
  }
  return lines;
}

/**
 * All metrics as OpenMetrics, which has exemplars. A registry of prom-client writes one format only, and renames the
 * counters that another one has, too.
 */
export async function openMetricsText(registry: Registry): Promise<string> {
  const families = await registry.getMetricsAsJSON();
  return `${families.flatMap(family).join('\n')}\n# EOF\n`;
}
