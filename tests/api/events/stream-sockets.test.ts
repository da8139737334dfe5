import { once } from 'node:events';
import { connect, type Socket as NetSocket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readMetric } from '../../support/metrics.ts';
import { useSocket } from '../../support/socket.ts';

const ORIGIN = 'https://pages.example.com';
const app = useApp({ settings: { CORS_ORIGINS: ORIGIN } });
const socket = useSocket(app);
const caller = useAccount(app);

/** Nearly as long as a post can be. */
const LONG = 'b'.repeat(50_000);

const open = () => readMetric(app, 'content_graph_event_streams_open');

/** A connection that keeps what comes back on it. */
async function dial(): Promise<{ connection: NetSocket; received: { text: string } }> {
  const connection = connect(Number(new URL(socket.origin).port), '127.0.0.1');
  onTestFinished(() => void connection.destroy());
  const received = { text: '' };
  connection.setEncoding('utf8').on('data', (text: string) => {
    received.text += text;
  });
  await once(connection, 'connect');
  return { connection, received };
}

function get(path: string, version: string, fields: readonly string[] = []): string {
  return [`GET ${path} HTTP/${version}`, 'host: localhost', ...fields, '', ''].join('\r\n');
}

const TITLES = `/graphql?${new URLSearchParams({ query: 'subscription { postCreated { title } }' })}`;
interface Transport {
  readonly name: string;
  readonly accept: string;
  /** What a stream opens with. */
  readonly opening: RegExp;
}

const SSE: Transport = {
  name: 'Server-Sent Events',
  accept: 'text/event-stream',
  opening: /retry: 1000\nid: \S+\n\n/,
};
const MULTIPART: Transport = {
  name: 'multipart',
  accept: 'multipart/mixed;subscriptionSpec=1.0',
  opening: /\r\n\r\n\{\}\r\n--graphql/,
};
const TRANSPORTS = [SSE, MULTIPART];
const fields = ({ accept }: Transport = SSE) => [`accept: ${accept}`, `authorization: Bearer ${caller.key}`];

/** The events of a stream, out of its chunks (RFC 9112 section 7.1) if it has any. */
function bodyOf(text: string): string {
  const start = text.indexOf('\r\n\r\n') + 4;
  const body = text.slice(start);
  if (!/^transfer-encoding: chunked\r$/im.test(text.slice(0, start))) return body;
  let rest = body;
  let content = '';
  for (;;) {
    const [size = ''] = rest.split('\r\n', 1);
    const length = Number.parseInt(size, 16);
    if (!(length > 0)) return content;
    expect(rest.slice(size.length + 2 + length, size.length + 4 + length)).toBe('\r\n');
    content += rest.slice(size.length + 2, size.length + 2 + length);
    rest = rest.slice(size.length + 4 + length);
  }
}

const titlesIn = (text: string) => [...bodyOf(text).matchAll(/"title":"([^"]*)"/g)].map(([, title]) => title);

describe('an event stream on a socket', () => {
  it.each(TRANSPORTS.flatMap((transport) => ['1.0', '1.1'].map((version) => ({ ...transport, version }))))(
    'is framed as HTTP/$version has it, event by event, over $name',
    async ({ version, ...transport }) => {
      const { connection, received } = await dial();
      connection.write(get(TITLES, version, fields(transport)));
      await expect.poll(() => received.text).toMatch(transport.opening);
      for (const title of ['a', 'ä€𝔹']) {
        await createPost(app, caller.key, { title });
        await expect.poll(() => received.text).toContain(`"title":"${title}"`);
      }
      expect(/^transfer-encoding: chunked\r$/im.test(received.text)).toBe(version === '1.1');
    },
  );

  it.each(TRANSPORTS)(
    'goes on where it was once a reader that has stopped for a while reads on, over $name',
    async (transport) => {
      const { connection, received } = await dial();
      const query = new URLSearchParams({ query: 'subscription { postCreated { title body } }' });
      connection.write(get(`/graphql?${query}`, '1.1', fields(transport)));
      await expect.poll(() => received.text).toMatch(transport.opening);
      connection.pause();
      const titles: string[] = [];
      // Until the buffers of the kernel are full at both ends.
      while ((await readMetric(app, 'content_graph_event_streams_lagging')) === 0) {
        expect(titles.length).toBeLessThan(1_000);
        titles.push(`${titles.length}`);
        await createPost(app, caller.key, { title: `${titles.length - 1}`, body: LONG });
      }
      for (const title of ['late', 'later', 'last']) {
        titles.push(title);
        await createPost(app, caller.key, { title });
      }
      connection.resume();
      await expect.poll(() => received.text).toContain('"title":"last"');
      expect(titlesIn(received.text)).toEqual(titles);
      await expect.poll(() => readMetric(app, 'content_graph_event_streams_lagging')).toBe(0);
      connection.destroy();
    },
  );

  it.each(TRANSPORTS)(
    'waits for the responses before it on its connection, and loses nothing, over $name',
    async (transport) => {
      const { connection, received } = await dial();
      const query = new URLSearchParams({ query: '{ posts(limit: 100) { title } }' });
      const request = get(`/graphql?${query}`, '1.1', [`authorization: Bearer ${caller.key}`]);
      connection.write(request + request + get(TITLES, '1.1', fields(transport)));
      await expect.poll(() => received.text).toMatch(transport.opening);
      const title = `after two answers, over ${transport.name}`;
      await createPost(app, caller.key, { title });
      await expect.poll(() => received.text).toContain(`"title":"${title}"`);
      const stream = received.text.slice(received.text.lastIndexOf('HTTP/1.1 200 OK'));
      expect(titlesIn(stream)).toEqual([title]);
    },
  );

  it('whose client leaves at any moment is not left open', async () => {
    await expect.poll(open).toBe(0);
    for (let turns = 0; turns < 40; turns += 1) {
      const { connection } = await dial();
      const origin = turns % 2 === 0 ? [] : [`origin: ${ORIGIN}`];
      const transport = turns % 4 < 2 ? SSE : MULTIPART;
      connection.write(get(TITLES, '1.1', [...fields(transport), ...origin]));
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      connection.destroy();
    }
    await createPost(app, caller.key, { title: 'for nobody' });
    // A request that was read late opens a stream late.
    await expect.poll(socket.connections).toBe(0);
    await expect.poll(open).toBe(0);
    await expect.poll(() => readMetric(app, 'content_graph_distinct_subscriptions')).toBe(0);
  });
});
