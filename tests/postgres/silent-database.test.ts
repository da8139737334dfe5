import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { send } from '../support/keyed.ts';
import { subscribe, titlesOf } from '../support/streams/subscriber.ts';

describe('An instance whose PostgreSQL goes silent', () => {
  const app = useApp({ settings: { DATABASE_POOL_SIZE: '3' } });

  it('gives its connections up and goes on over new ones, with its event streams', async () => {
    const proxy = await stallingProxy(postgresOf(app).url);
    const instance = await instanceThrough(
      app,
      { url: proxy.url, directUrl: proxy.url },
      { statementTimeoutMs: 500 },
    );
    const { key } = await app.account();
    const ask = () => send(instance, { query: '{ viewer { id } }', key });
    // All of the pool is in use once, and a stream is open.
    const statuses = async () => (await Promise.all([ask(), ask(), ask()])).map(({ status }) => status);
    await expect.poll(statuses).toEqual([200, 200, 200]);
    const stream = await subscribe(instance, { key });
    await createPost(app, key, { title: 'before' });
    expect(titlesOf(await stream.until('before'))).toEqual(['before']);

    proxy.silence();
    // None of these is left without a response, and none waits for as long as TCP would.
    for (const { status } of await Promise.all([ask(), ask(), ask(), ask()]))
      expect([200, 503, 504]).toContain(status);
    await expect.poll(async () => (await ask()).status).toBe(200);
    await createPost(app, key, { title: 'after' });
    expect(titlesOf(await stream.until('after'))).toEqual(['after']);
  });
});
