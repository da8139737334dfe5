import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { type Cut, cuttingProxy } from '../support/database/cutting-proxy.ts';
import { LOCKS } from '../support/database/locks.ts';
import { besidePool, instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { CREATE_ALONE, CREATE_POST, postsNamed, type RawResponse, send } from '../support/keyed.ts';

function expectUnknown(response: RawResponse): void {
  expect(response).toMatchObject({ status: 503, codes: ['SERVICE_UNAVAILABLE'] });
  const [error] = JSON.parse(response.text).errors;
  expect(error.extensions).toEqual({ code: 'SERVICE_UNAVAILABLE', outcome: 'unknown' });
  expect(error.message).toMatch(/may have been saved/);
}

describe('A mutation whose connection is lost while the database commits (contract: outcome)', () => {
  const app = useApp();

  it.each<[Cut, string, string, number]>([
    ['before', 'a transaction', CREATE_POST, 0],
    ['after', 'a transaction', CREATE_POST, 1],
    ['before', 'one statement', CREATE_ALONE, 0],
    ['after', 'one statement', CREATE_ALONE, 1],
  ])('is 503 that says so (%s, %s)', async (where, way, query, posts) => {
    const proxy = await cuttingProxy(postgresOf(app).url);
    const instance = await instanceThrough(app, { url: proxy.url });
    const { key, id } = await app.account();
    const title = `cut ${where} ${way} ${id}`;
    await send(instance, { query: '{ viewer { id } }', key });
    proxy.cut(where, 1, query === CREATE_ALONE ? 'INSERT INTO posts' : undefined);
    const response = await send(instance, { query, variables: { title }, key });
    expect(proxy.cuts).toBe(1);
    expectUnknown(response);
    // A client that repeats by itself what it may not repeat without a key is not asked to.
    expect(response.headers.get('retry-after')).toBeNull();
    expect(await postsNamed(app, title)).toBe(posts);
  });
});

describe.each([
  ['a statement', { statementTimeoutMs: 3_000 }],
  ['an operation', { operationTimeoutMs: 3_000, statementTimeoutMs: 5_000 }],
])('A mutation past the time of %s, on a connection that stays silent', (_, limits) => {
  const app = useApp();

  it.each([
    ['is 503 that says it may have been done, where it is one statement', CREATE_ALONE, undefined],
    ['is 504 or 503, and nothing was done, where it had not come to COMMIT', CREATE_POST, 'k'],
  ])('%s', async (_title, query, idempotencyKey) => {
    const proxy = await stallingProxy(postgresOf(app).url);
    const instance = await instanceThrough(app, { url: proxy.url }, limits);
    const { key, id } = await app.account();
    const title = `silent ${id}`;
    await send(instance, { query: '{ viewer { id } }', key });
    const other = await besidePool(app);
    await other.query('BEGIN; LOCK TABLE posts IN SHARE ROW EXCLUSIVE MODE');
    const responding = send(instance, {
      query,
      variables: { title },
      key,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    const waits = `SELECT FROM ${LOCKS} WHERE NOT granted AND relation = 'posts'::regclass`;
    await expect.poll(async () => (await other.query(waits)).rows.length, { interval: 10 }).toBe(1);
    proxy.silence();
    const response = await responding;
    if (query === CREATE_ALONE) expectUnknown(response);
    else {
      expect([503, 504]).toContain(response.status);
      expect(response.text).not.toMatch(/unknown/);
    }
    await expect.poll(async () => (await other.query(waits)).rows.length).toBe(0);
    await other.query('ROLLBACK');
    expect(await postsNamed(app, title)).toBe(0);
  });
});
