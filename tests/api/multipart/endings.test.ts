import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { receivedIn, subscribeMultipart } from '../../support/streams/multipart-stream.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

describe('credentials that end', () => {
  const app = useApp({ settings: { CREDENTIAL_RECHECK_MS: '50' } });
  const author = useAccount(app);

  it.each([
    ['no event', []],
    ['events', ['one', 'two']],
  ])(
    'end a stream after %s with an error and the position, from which another goes on',
    async (_what, titles) => {
      const { prisma } = app;
      const scopes = ['posts:read'] as const;
      const { id, key } = await createApiKey(app.database, { userId: author.id, name: 'short', scopes });
      const stream = await subscribeMultipart(app, { key });
      let lastId = stream.startId;
      for (const title of titles) {
        await createPost(app, author.key, { title });
        lastId = (await stream.receive()).id;
      }
      await prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } });
      const payload = await stream.payload();
      expect(payload).not.toHaveProperty('data');
      const { errors, id: position } = receivedIn(payload);
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['UNAUTHENTICATED']);
      expect(position).toBe(lastId);
      expect(await stream.part()).toBeUndefined();
      expect(stream.closed).toBe(true);
      await createPost(app, author.key, { title: 'next' });
      const again = await subscribe(app, { key: author.key, header: position });
      expect((await again.receive()).title).toBe('next');
      await again.close();
    },
  );
});

describe('a stream on which nothing happens', () => {
  const app = useApp();

  it('has an empty part at least every 15 seconds', async () => {
    const { key } = await app.account();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const stream = await subscribeMultipart(app, { key });
    expect((await stream.part())?.json).toBe('{}');
    for (let round = 0; round < 3; round += 1) {
      const next = stream.part();
      vi.advanceTimersByTime(15_000);
      expect((await next)?.json).toBe('{}');
    }
    await stream.close();
    vi.useRealTimers();
    await expect.poll(() => readMetric(app, 'content_graph_event_streams_open')).toBe(0);
  });
});

describe('a service that stops', () => {
  const app = useApp();

  it('ends a stream without its closing delimiter, and one that opens then', async () => {
    const { key } = await app.account();
    const open = await subscribeMultipart(app, { key });
    await createPost(app, key, { title: 'before' });
    const { id } = await open.receive();
    app.app.endStreams();
    const late = await subscribeMultipart(app, { key, header: id });
    for (const stream of [open, late]) {
      expect(await stream.payload()).toBeUndefined();
      expect(stream.closed).toBe(false);
    }
    expect(late.startId).toBe(id);
  });
});
