import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
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
