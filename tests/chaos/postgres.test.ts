import { randomBytes, randomInt } from 'node:crypto';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Settings } from '../support/process.ts';
import { temporaryFolder } from '../support/process.ts';
import { admin } from '../support/server.ts';
import { ALLOCATION_ORDER, createInstance } from './support/instance.ts';
import { type ChaosReport, FAULTY_CATCH_UP_LIMIT_MS, runChaos } from './support/run.ts';

const INSTANCES = 3;
const SCOPES = 'posts:read posts:write';

/** A database of its own, an API key in it, and a connection to look at it. */
async function prepare() {
  const url = new URL(process.env.DATABASE_URL ?? '');
  const server = new pg.Client({ connectionString: url.href });
  await server.connect();
  const name = `content_graph_chaos_${randomBytes(6).toString('hex')}`;
  await server.query(`CREATE DATABASE ${name}`);
  onTestFinished(async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await server.end();
  });
  url.pathname = `/${name}`;
  const settings: Settings = { NODE_ENV: 'test', DATABASE_URL: url.href };
  const dataDir = await temporaryFolder();
  const email = 'writer@example.com';
  const password = randomBytes(18).toString('base64url');
  const account = ['--name', 'Writer', '--email', email, '--password', password];
  await admin(['user', 'create', ...account], dataDir, settings);
  const created = await admin(
    ['api-key', 'create', '--user', email, '--name', 'chaos', '--scopes', SCOPES],
    dataDir,
    settings,
  );
  expect(created.stderr).toBe('');
  return { server, name, settings: { ...settings, DATA_DIR: dataDir }, key: created.json.key as string, url };
}

async function runOnPostgres(
  fault: Settings,
  size: { posts: number; clients: number; postsAKill: number; catchUpLimitMs?: number },
): Promise<ChaosReport> {
  const { server, name, settings, key, url } = await prepare();
  const instances = await Promise.all(
    Array.from({ length: INSTANCES }, () => createInstance({ ...settings, ...fault })),
  );
  const report = await runChaos({
    instances,
    key,
    seed: randomInt(2 ** 31),
    writers: 12,
    ...size,
    async cutConnections() {
      const { rowCount } = await server.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = $1 AND application_name = 'content-graph-api' AND random() < 0.4`,
        [name],
      );
      return rowCount ?? 0;
    },
    async readStored() {
      const client = new pg.Client({ connectionString: url.href });
      await client.connect();
      const { rows } = await client.query<{ title: string }>('SELECT title FROM posts');
      await client.end();
      return rows.map(({ title }) => title);
    },
  });
  process.stdout.write(`PostgreSQL: ${JSON.stringify(report.figures)}\n`);
  return report;
}

describe('three instances on PostgreSQL', () => {
  it('give each client exactly the posts committed since it connected, in one order, whatever is killed', async () => {
    const { problems } = await runOnPostgres({}, { posts: 2_000, clients: 50, postsAKill: 200 });
    expect(problems).toEqual([]);
  });

  it('would be found out if ids followed allocation', async () => {
    const { problems } = await runOnPostgres(ALLOCATION_ORDER, {
      posts: 300,
      clients: 10,
      postsAKill: 1_000,
      catchUpLimitMs: FAULTY_CATCH_UP_LIMIT_MS,
    });
    process.stdout.write(`  with the fault: ${problems.length} problems, such as: ${problems[0]}\n`);
    expect(problems).not.toEqual([]);
  });
});
