import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import type { TestApp } from '../../support/app.ts';
import { connect, instanceThrough, postgresOf } from '../../support/database/postgres.ts';
import { stallingProxy } from '../../support/database/stalling-proxy.ts';
import { secondInstance } from '../../support/second-instance.ts';

const INFRASTRUCTURE = readFileSync(
  join(import.meta.dirname, '../../../docs/operate/infrastructure.md'),
  'utf8',
);
const [, section = ''] = INFRASTRUCTURE.split('## What responds without a dependency');

/** The table of docs/operate/infrastructure.md: dependency, state and statuses. */
export const DEPENDENCY_ROWS = [
  ...(section.split('\n## ')[0] ?? '').matchAll(/^\| `(\w+)` \| (\w+) \| (.+) \|$/gm),
].map(
  ([, dependency = '', state = '', statuses = '']) =>
    [dependency, state, statuses.split(' | ').map(Number)] as const,
);

const post = (key: string, query: string, accept = 'application/json'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${key}` },
  body: JSON.stringify({ query }),
});

/** A request to each class of endpoint, in the order of the columns. */
const requests = (key: string): readonly (readonly [path: string, init?: RequestInit])[] => [
  ['/health/live'],
  ['/health/ready'],
  ['/nowhere'],
  ['/graphql', post(key, '{ __typename }')],
  ['/graphql', post(key, '{ viewer { id } }')],
  ['/graphql', post(key, 'mutation { createPost(title: "t", body: "b") { id } }')],
  ['/graphql', post(key, 'subscription { postCreated { id } }', 'text/event-stream')],
];

type Instance = Pick<TestApp, 'fetch'>;

export function statusesOf({ fetch }: Instance, key: string): Promise<number[]> {
  const statuses = requests(key).map(async ([path, init]) => {
    const response = await fetch(path, init);
    await response.body?.cancel();
    return response.status;
  });
  return Promise.all(statuses);
}

const LIMITS = { operationTimeoutMs: 1_000, statementTimeoutMs: 1_000 };
const SLOW_MS = 500;

/** An instance that reaches each dependency through a proxy of its own, and what puts one dependency into a state. */
async function proxied(app: TestApp, dependency: string, state: string) {
  const { url } = postgresOf(app);
  const [database, direct, redis] = [
    await stallingProxy(url),
    await stallingProxy(url),
    await stallingProxy(process.env.REDIS_URL ?? ''),
  ];
  const proxy = { DATABASE_URL: database, DIRECT_DATABASE_URL: direct, REDIS_URL: redis }[dependency];
  return {
    change: async () => (state === 'silent' ? proxy?.stall() : proxy?.cut()),
    start: () =>
      instanceThrough(app, { url: database.url, directUrl: direct.url }, { ...LIMITS, redisUrl: redis.url }),
  };
}

/** An instance whose role may not open a connection any more. */
async function full(app: TestApp) {
  const { url, directUrl } = postgresOf(app);
  const admin = await connect(url);
  const role = `content_graph_full_${process.pid}_${Math.floor(performance.now())}`;
  const { rows } = await admin.query<{ user: string }>('SELECT current_user AS user');
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' IN ROLE ${rows[0]?.user}`);
  onTestFinished(async () => void (await admin.query(`DROP ROLE ${role}`)));
  const own = Object.assign(new URL(url), { username: role, password: 'p' }).href;
  return {
    async change() {
      await admin.query(`ALTER ROLE ${role} CONNECTION LIMIT 0`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]);
    },
    start: () => instanceThrough(app, { url: own, directUrl }, LIMITS),
  };
}

/** An instance each of whose statements takes half a second. */
async function slow(app: TestApp) {
  let pauseMs = 0;
  const { database } = app;
  const late: Database = {
    ...database,
    async query(statement, values) {
      await delay(pauseMs);
      return database.query(statement, values);
    },
  };
  return {
    async change() {
      pauseMs = SLOW_MS;
    },
    start: async () => secondInstance(app, { database: late }),
  };
}

/** Prepares an instance, and what puts one of its dependencies into a state. */
export const setUpDependency = (app: TestApp, dependency: string, state: string) =>
  state === 'full' ? full(app) : state === 'slow' ? slow(app) : proxied(app, dependency, state);

/** What an instance returns while everything can be used. */
export const USABLE = [200, 200, 404, 200, 200, 200, 200];
