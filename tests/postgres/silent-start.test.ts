import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { useApp } from '../support/app.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { secondInstance } from '../support/second-instance.ts';

const app = useApp();
const PATHS = ['/', '/graphql?query={__typename}', '/login', '/account', '/nowhere'];

describe('An instance that starts while PostgreSQL accepts connections and never responds', () => {
  it('responds to every path within its deadline, and is not ready', async () => {
    const proxy = await stallingProxy(postgresOf(app).url);
    proxy.stall();
    const instance = await instanceThrough(
      app,
      { url: proxy.url, directUrl: proxy.url },
      { operationTimeoutMs: 1_000 },
    );
    const statuses = await Promise.all(PATHS.map(async (path) => (await instance.fetch(path)).status));
    expect(statuses).toEqual(PATHS.map(() => 503));
    expect((await instance.fetch('/health/live')).status).toBe(200);
    proxy.restore();
    await expect.poll(async () => (await instance.fetch('/nowhere')).status).toBe(404);
  });
});

/** Resolves once the URL's time limit of a connection attempt is over. */
async function waitForTimeout(DATABASE_URL: string): Promise<void> {
  const config = loadConfig({ NODE_ENV: 'test', DATABASE_URL });
  const database = await openDatabase({ config, log: createLogger({ level: 'fatal', pretty: false }) });
  await expect(database.dedicatedClient()).rejects.toMatchObject({ kind: 'unavailable' });
  await database.close();
}

describe('A connection attempt', () => {
  it('lasts no longer than the connect_timeout of the URL', async () => {
    const proxy = await stallingProxy(postgresOf(app).url);
    proxy.stall();
    const ended: number[] = [];
    const attempt = async (seconds: number) => {
      const url = new URL(proxy.url);
      url.searchParams.set('connect_timeout', String(seconds));
      await waitForTimeout(url.href);
      ended.push(seconds);
    };
    await Promise.all([3, 1, 2].map(attempt));
    expect(ended).toEqual([1, 2, 3]);
  });
});

/** Longer than the period after which an instance without notifications reads its restrictions again. */
const ROUND_TRIP_MS = 700;

describe('An instance with a slow database and an unreachable DIRECT_DATABASE_URL', () => {
  it('handles requests once its restrictions have been read', async () => {
    const { database } = app;
    const slow: Database = {
      ...database,
      async query(statement, values) {
        await delay(ROUND_TRIP_MS);
        return database.query(statement, values);
      },
      dedicatedClient: () => Promise.reject(new Error('unreachable')),
    };
    const instance = secondInstance(app, { database: slow });
    expect((await instance.fetch('/nowhere')).status).toBe(404);
  });
});
