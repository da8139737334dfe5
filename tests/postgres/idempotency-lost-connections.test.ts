import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { type Cut, cuttingProxy } from '../support/database/cutting-proxy.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { CREATE_ALONE, CREATE_POST, postsNamed, send, storedFor } from '../support/keyed.ts';
import { instanceOnOwnPool } from '../support/second-instance.ts';

describe('A keyed mutation whose connection is lost at COMMIT', () => {
  const app = useApp();

  it.each<[Cut, string, string, string | undefined]>([
    ['before', 'a transaction', CREATE_POST, undefined],
    ['after', 'a transaction', CREATE_POST, undefined],
    ['before', 'one statement', CREATE_ALONE, 'INSERT INTO idempotency_keys'],
    ['after', 'one statement', CREATE_ALONE, 'INSERT INTO idempotency_keys'],
  ])(
    'is 503, or what was committed, to everybody who waits, and one post in the end (%s it, %s)',
    async (where, way, query, statement) => {
      const proxy = await cuttingProxy(postgresOf(app).url);
      const instance = await instanceThrough(app, { url: proxy.url, directUrl: proxy.url });
      const { key, id } = await app.account();
      const title = `cut ${where} ${way} ${id}`;
      const request = { query, variables: { title }, key, idempotencyKey: 'k' };
      // The look-up of the credentials is done before; what commits from here on is the mutation.
      await send(instance, { query: '{ viewer { id } }', key });
      proxy.cut(where, 1, statement);
      const responses = await Promise.all(Array.from({ length: 10 }, () => send(instance, request)));
      expect(proxy.cuts).toBe(1);
      const failed = responses.filter(({ status }) => status !== 200);
      const done = responses.filter(({ status }) => status === 200);
      if (where === 'after' && statement !== undefined) {
        // The response that was committed is found at once.
        expect(failed).toEqual([]);
        for (const { replayed, headers } of responses)
          expect([replayed, headers.get('retry-after')]).toEqual(['true', null]);
      } else {
        expect(failed).toHaveLength(1);
        expect(failed[0]).toMatchObject({ status: 503, codes: ['SERVICE_UNAVAILABLE'], replayed: null });
        expect(failed[0]?.headers.get('retry-after')).toBe('1');
        expect(JSON.parse(failed[0]?.text ?? '').errors[0].extensions.outcome).toBe('unknown');
      }
      expect(new Set(done.map(({ text }) => text)).size).toBe(1);
      expect(await send(app, request)).toMatchObject({ text: done[0]?.text, replayed: 'true' });
      expect(await postsNamed(app, title)).toBe(1);
      expect(await storedFor(app, id)).toBe(1);
      const { id: postId } = JSON.parse(done[0]?.text ?? '').data.createPost;
      const read = await app.gql(`{ post(id: "${postId}") { title } }`, { key });
      expect(read.data).toEqual({ post: { title } });
    },
  );

  it('is 503 behind a pooler that fails its BEGIN, and a retry is the first', async () => {
    const proxy = await cuttingProxy(postgresOf(app).url);
    // With a direct address of its own, what lies between is taken for a pooler.
    const instance = await instanceThrough(app, { url: proxy.url });
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `begun ${id}` }, key, idempotencyKey: 'k' };
    await send(instance, { query: '{ viewer { id } }', key });
    proxy.cut('before', 1, 'BEGIN');
    const lost = await send(instance, request);
    expect([proxy.cuts, lost.status, lost.codes]).toEqual([1, 503, ['SERVICE_UNAVAILABLE']]);
    expect(await send(instance, request)).toMatchObject({ status: 200, replayed: null });
    expect(await postsNamed(app, `begun ${id}`)).toBe(1);
  });
});

describe('A keyed mutation that has been done', () => {
  const app = useApp();

  it('is replayed although its statement would have to wait for a table', async () => {
    const hasty = await instanceOnOwnPool(app, { ...app.config, statementTimeoutMs: 2_500 });
    const { key, id } = await app.account();
    const title = `waiting ${id}`;
    const request = { query: CREATE_ALONE, variables: { title }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    expect([first.status, first.replayed]).toEqual([200, null]);
    const holder = await app.database.dedicatedClient();
    // As CREATE INDEX holds it.
    await holder.query('BEGIN; LOCK TABLE posts IN SHARE MODE');
    try {
      expect(await send(hasty, request)).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
      expect(await send(hasty, { ...request, idempotencyKey: 'other' })).toMatchObject({ status: 504 });
    } finally {
      await holder.query('ROLLBACK');
      await holder.end();
    }
    expect(await postsNamed(app, title)).toBe(1);
  });
});
