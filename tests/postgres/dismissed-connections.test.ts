import { describe, expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { cuttingProxy } from '../support/database/cutting-proxy.ts';
import { instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { send } from '../support/keyed.ts';

describe('An instance whose connections are ended by an administrator as soon as they are ready', () => {
  const app = useApp();

  it('lives on, and answers once they are left alone', async () => {
    const proxy = await cuttingProxy(postgresOf(app).url);
    proxy.dismiss(3);
    const instance = await instanceThrough(app, { url: proxy.url, directUrl: proxy.url });
    const { key } = await app.account();
    const post = await createPost(app, key);
    // What is not caught where it happens ends a process, and this run.
    const title = async () => {
      const { status, text } = await send(instance, { query: `{ post(id: "${post}") { id } }`, key });
      expect([200, 503]).toContain(status);
      return text;
    };
    await expect.poll(title).toBe(JSON.stringify({ data: { post: { id: post } } }));
    await expect.poll(() => proxy.cuts).toBe(3);
  });
});
