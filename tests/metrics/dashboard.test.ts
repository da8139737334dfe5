import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startApp, type TestApp } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { ROOT, temporaryFolder, until } from '../support/processes/process.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';
import { startPrometheus } from './prometheus.ts';

/** Between the requests of a client. */
const PAUSE_MS = 40;
const LOAD_MS = Number(process.env.LOAD_SECONDS ?? '0') * 1_000;

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels }: { panels: Panel[] } = JSON.parse(
  readFileSync(join(ROOT, 'deploy/grafana-dashboard.json'), 'utf8'),
);
const queries = panels
  .flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
  .map(({ title, expr }) => ({
    title,
    expr: expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '60s'),
  }));

let own: TestDatabase;
let app: TestApp & { stop(): Promise<void> };
beforeAll(async () => {
  own = await createTestDatabase();
  app = await startApp(own);
});
afterAll(() => app.stop());

/** Reads, writes, mistakes, replays and streams, until the signal. */
async function load(origin: string, key: string, signal: AbortSignal): Promise<void> {
  const authorization = `Bearer ${key}`;
  const post = async (query: string, headers = {}) => {
    const body = JSON.stringify({ query });
    const init = {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body,
    };
    await (await fetch(`${origin}/graphql`, { ...init, signal })).text();
  };
  const follow = async (accept: string) => {
    const url = `${origin}/graphql?query=${encodeURIComponent('subscription { postCreated { id title } }')}`;
    const { body } = await fetch(url, { headers: { authorization, accept }, signal });
    for await (const _ of body ?? []) if (signal.aborted) return;
  };
  const work = async () => {
    while (!signal.aborted) {
      const key = { 'idempotency-key': randomUUID() };
      const create = 'mutation Create { createPost(title: "t", body: "b") { id } }';
      await post('query Feed { posts(limit: 5) { id title author { name } } }');
      await post(create, key);
      await post(create, key);
      await post('{ nothing }');
      await fetch(`${origin}/nowhere`, { signal });
      await delay(PAUSE_MS, undefined, { signal });
    }
  };
  const all = [work(), follow('text/event-stream'), follow('multipart/mixed;subscriptionSpec=1.0')];
  const ends = await Promise.allSettled(all);
  for (const end of ends) if (end.status === 'rejected' && !signal.aborted) throw end.reason;
}

it('every query of the dashboard has data while two instances work, and every rule can be evaluated', async () => {
  const settings = {
    ...productionSettings(),
    ...own.settings,
    REDIS_URL: process.env.REDIS_URL ?? '',
    RATE_LIMIT_BURST: '50',
    RATE_LIMIT_PER_SECOND: '60',
  };
  const instances = await Promise.all([1, 2].map(async () => startServer(await temporaryFolder(), settings)));
  const origins = instances.map(({ origin }) => origin);
  const prometheus = await startPrometheus(origins);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const working = Promise.all(
    origins.map(async (origin) => load(origin, (await app.account()).key, stop.signal)),
  );
  working.catch(() => undefined);
  await delay(LOAD_MS);
  expect(queries.length).toBeGreaterThan(40);
  const table: string[] = [];
  for (const { title, expr } of queries) {
    const found = await until(`data for "${title}": ${expr}`, async () => {
      const series = await prometheus.query(expr);
      return series.length > 0 && series;
    });
    const values = found.map(({ metric, value }) => {
      const { instance: _, job: __, __name__: ___, ...labels } = metric;
      return `${Object.values(labels).join(' ')} ${Number(Number(value[1]).toPrecision(3))}`.trim();
    });
    table.push(`${title} | ${expr} | ${values.join('; ')}`);
  }
  // The series of an instance are missing after a scrape that came too late.
  const feeds = 'content_graph_graphql_operation_duration_seconds_count{operation="Feed",kind="query"}';
  for (const expr of ['content_graph_build_info', feeds])
    await until(`${expr} of both instances`, async () => (await prometheus.query(expr)).length === 2);
  const rules = await until('an evaluation of every rule', async () => {
    const all = await prometheus.rules();
    return all.every(({ health }) => health !== 'unknown') && all;
  });
  expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  if (LOAD_MS > 0) process.stdout.write(`${table.join('\n')}\n`);
  stop.abort();
  await working.catch((error: unknown) => {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
  });
});
