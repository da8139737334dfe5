import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { startCompressingProxy } from '../../support/compressing-proxy.ts';
import { createPost } from '../../support/content.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';
import { FORMATS, subscribeToChanges } from '../../support/streams/changes.ts';
import { ACCEPT_MULTIPART } from '../../support/streams/multipart-stream.ts';
import { requestStream } from '../../support/streams/subscriber.ts';

const ACCEPT = { sse: 'text/event-stream', multipart: ACCEPT_MULTIPART };

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('Through a proxy that compresses, by %s', (_path, options) => {
  const app = useApp();
  const socket = useSocket(app, options);
  const caller = useAccount(app);

  it.each(FORMATS)('each event arrives before the next one is sent, over %s', async (format) => {
    // Otherwise the proxy holds back the headers of the response, too, and nothing below ends.
    const direct = await requestStream(socket, { key: caller.key, accept: ACCEPT[format] });
    expect(direct.headers.get('cache-control')).toBe('no-store, no-transform');
    await direct.body?.cancel();
    const origin = await startCompressingProxy(socket.origin);
    const headers = { 'accept-encoding': 'gzip, br' };
    const through = {
      async fetch(path: string, init?: RequestInit) {
        const response = await fetch(new URL(path, origin), init);
        expect(response.headers.get('content-encoding')).toBeNull();
        return response;
      },
    };
    const stream = await subscribeToChanges(through, { key: caller.key, format, headers });
    for (const count of [1, 2, 3]) {
      const id = await createPost(app, caller.key, { title: `post ${count}` });
      const got = await stream.count(count);
      expect(got.at(-1)?.told.postId).toBe(id);
    }
    await stream.close();
  });

  it('a response that is no stream is compressed', async () => {
    const origin = await startCompressingProxy(socket.origin);
    const query = encodeURIComponent('{ __schema { types { name description } } }');
    const response = await fetch(`${origin}/graphql?query=${query}`, {
      headers: { 'accept-encoding': 'gzip', cookie: 'theme=dark' },
    });
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(await response.json()).toHaveProperty('data');
  });
});
