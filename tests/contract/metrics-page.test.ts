import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ERRORS } from '../../src/platform/errors.ts';
import { ORIGIN, useApp } from '../support/app.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

interface Dashboard {
  readonly panels: readonly {
    readonly type: string;
    readonly title: string;
    readonly description?: string;
    readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

const { panels }: Dashboard = JSON.parse(read('deploy/grafana-dashboard.json'));
const charts = panels.filter(({ type }) => type !== 'row');
const alerts = [...read('deploy/alerts.yml').matchAll(/alert: (\S+)\n +expr: (.*)\n/g)].map(
  ([, name = '', expr = '']) => [name, expr] as const,
);
const queries: (readonly [string, string])[] = [
  ...charts.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [`panel ${title}`, expr] as const),
  ),
  ...alerts.map(([name, expr]) => [`alert ${name}`, expr] as const),
];

/** Added by Prometheus when it scrapes. */
const OF_PROMETHEUS = new Set(['instance', 'job', 'le']);
const WORDS = new Set(
  'sum by rate increase histogram_quantile topk count time changes absent abs max min and on up unless min_over_time avg_over_time'.split(
    ' ',
  ),
);

/** The metrics that a query names, without what is between braces, brackets or in `by (…)`. */
function namesIn(expr: string): string[] {
  const bare = expr.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|on) \([^)]*\)/g, ' ');
  return [...bare.matchAll(/[a-z_][a-z0-9_]*/gi)]
    .filter(({ index }) => !/\d/.test(bare[index - 1] ?? ' '))
    .map(([name]) => name)
    .filter((name) => !WORDS.has(name));
}

describe('docs/operate/metrics.md, dashboard and alerts', () => {
  const app = useApp({ settings: { REDIS_URL: 'redis://127.0.0.1:1' } });
  /** The values of each label of each sample. */
  const samples = new Map<string, Map<string, Set<string>>>();
  const described = new Map<string, { help: string; type: string }>();

  beforeAll(async () => {
    const { key } = await app.account();
    await app.gql('query Mine { viewer { id } }', { key });
    await app.gql('mutation { createPost(title: "t", body: "b") { id } }', { key });
    const stop = new AbortController();
    const stream = await app.app.fetch(
      new Request(`${ORIGIN}/graphql?query=${encodeURIComponent('subscription { postCreated { id } }')}`, {
        headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
        signal: stop.signal,
      }),
    );
    await stream.body?.cancel();
    stop.abort();
    await app.fetch('/nowhere');
    app.app.announceShutdown();
    await app.fetch('/health/ready');
    // prom-client has samples of garbage collection once there was one: scrapes make garbage.
    const text = await vi.waitUntil(
      async () => {
        const scraped = await (await app.fetch('/metrics')).text();
        return scraped.includes('nodejs_gc_duration_seconds_sum') && scraped;
      },
      { timeout: 600_000, interval: 1 },
    );
    for (const [, name = '', help = ''] of text.matchAll(/^# HELP (\S+) (.*)$/gm))
      described.set(name, { help, type: new RegExp(`^# TYPE ${name} (\\S+)$`, 'm').exec(text)?.[1] ?? '' });
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const known = samples.get(name) ?? new Map<string, Set<string>>();
      samples.set(name, known);
      for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
        known.set(label, (known.get(label) ?? new Set()).add(value));
    }
  });

  it('the page has every metric with its help, and no other', () => {
    const items = [...read('docs/operate/metrics.md').matchAll(/^- `(\w+)` \((\w+)[^)]*\): (.*)$/gm)];
    const listed = new Map(items.map(([, name = '', type = '', help = '']) => [name, { type, help }]));
    const own = [...described].filter(([name]) => !/^(?:process|nodejs)_/.test(name));
    expect(own.length).toBeGreaterThan(40);
    expect([...listed].sort()).toEqual(own.map(([name, { help, type }]) => [name, { type, help }]).sort());
  });

  it('every metric of the service has the prefix, and a unit or _total at its end', () => {
    const foreign = [...described.keys()].filter((name) => !/^(?:content_graph|process|nodejs)_/.test(name));
    expect(foreign, 'start the names of these metrics with content_graph_').toEqual([]);
    const suffixes: Readonly<Record<string, RegExp>> = { counter: /_total$/, histogram: /_seconds$/ };
    const wrong = [...described].filter(
      ([name, { type }]) => name.startsWith('content_graph_') && suffixes[type]?.test(name) === false,
    );
    expect(wrong, 'end names of counters with _total, and names of histograms with _seconds').toEqual([]);
  });

  it('no label is called job or instance, which Prometheus adds', () => {
    for (const [name, labels] of samples)
      for (const label of ['job', 'instance']) expect([...labels.keys()], name).not.toContain(label);
  });

  it.each(queries)('%s names metrics and labels that exist: %s', (_who, expr) => {
    const names = namesIn(expr);
    for (const name of names) expect([...samples.keys()]).toContain(name);
    const labels = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
    const known = new Set(names.flatMap((name) => [...(samples.get(name)?.keys() ?? [])]));
    for (const label of labels) if (!OF_PROMETHEUS.has(label)) expect([...known]).toContain(label);
    for (const [, name = '', matchers = ''] of expr.matchAll(/(\w+)\{([^}]*)\}/g))
      for (const [, label = '', sign = '', value = ''] of matchers.matchAll(/(\w+)(=~|!~|=)"([^"]*)"/g)) {
        if (OF_PROMETHEUS.has(label)) continue;
        const real = [...(samples.get(name)?.get(label) ?? [])];
        expect(real.length).toBeGreaterThan(0);
        const all = label === 'code' ? [...real, ...Object.keys(ERRORS)] : real;
        expect(
          all.some((one) => (sign === '=' ? one === value : new RegExp(`^(?:${value})$`).test(one))),
        ).toBe(true);
      }
  });

  it('each panel has a title, a unit and a description', () => {
    expect(charts.length).toBeGreaterThan(20);
    for (const { title, description, fieldConfig, targets } of charts) {
      expect([title, description, fieldConfig?.defaults.unit]).not.toContain(undefined);
      expect(targets?.length).toBeGreaterThan(0);
    }
  });
});
