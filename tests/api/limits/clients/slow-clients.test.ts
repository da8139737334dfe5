import { once } from 'node:events';
import { connect, type Socket as NetSocket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { dataOf } from '../../../support/rejection.ts';
import { type Socket, useSocket } from '../../../support/socket.ts';

const TIMEOUT_MS = 3_000;
const REQUEST_ID = 'the-request-of-a-client-that-does-not-read';

/** A connection that sends what it is told to, also when the other end has closed its half, and what came back on it. */
async function dial(socket: Socket) {
  const connection: NetSocket = connect({
    port: Number(new URL(socket.origin).port),
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  onTestFinished(() => void connection.destroy());
  const received = { text: '' };
  connection.setEncoding('utf8').on('data', (text: string) => {
    received.text += text;
  });
  // Writing to what the other end has closed is what these tests do.
  connection.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => connection.once('close', () => resolve()));
  await once(connection, 'connect');
  return { connection, received, closed };
}

/** Reads a response as it came over the wire. */
function parseResponse(text: string) {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  return { statusLine: head.split('\r\n')[0], head: head.toLowerCase(), body: JSON.parse(body) };
}

const app = useApp();
const socket = useSocket(app, { timeoutMs: TIMEOUT_MS });
const REQUEST = ['POST /graphql HTTP/1.1', 'host: localhost', 'content-type: application/json'];

/** Sends a byte at a time until the other end has had enough. */
async function trickle(start: string, byte: string) {
  const { connection, received, closed } = await dial(socket);
  connection.write(start);
  const timer = setInterval(() => connection.write(byte), 50);
  try {
    await closed;
  } finally {
    clearInterval(timer);
  }
  return parseResponse(received.text);
}

describe('a client that takes its time', () => {
  it.each([
    ['with its headers', `${REQUEST.join('\r\n')}\r\nx-slow: `, 'a'],
    ['with its body', `${[...REQUEST, 'content-length: 100000'].join('\r\n')}\r\n\r\n`, ' '],
    [
      'with a body of chunks',
      `${[...REQUEST, 'transfer-encoding: chunked'].join('\r\n')}\r\n\r\n`,
      '1\r\n \r\n',
    ],
    ['with its first line', 'POST /gra', 'p'],
  ])('%s gets 408 and is closed, however it goes on, while others are served', async (_how, start, byte) => {
    const slow = trickle(start, byte);
    const { key } = await app.account();
    /** A machine that itself takes longer than the limit gets 408 as well, and asks again. */
    const ask = async (): Promise<number> => {
      const beganMs = performance.now();
      const { status } = await socket.fetch('/graphql', graphqlPost('{ viewer { id } }', { key }));
      return status === 408 && performance.now() - beganMs > TIMEOUT_MS ? ask() : status;
    };
    for (const status of await Promise.all(Array.from({ length: 20 }, ask))) expect(status).toBe(200);
    const { statusLine, head, body } = await slow;
    expect(statusLine).toBe('HTTP/1.1 408 Request Timeout');
    expect(head).toMatch(/^connection: close$/m);
    expect(head).toMatch(/^x-request-id: \S+$/m);
    expect(body).toEqual({ errors: [{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }] });
  });

  it('that was told so has not got its mutation done, though the end arrived after all', async () => {
    const { key, id } = await app.account();
    const body = JSON.stringify({ query: 'mutation { createPost(title: "too late", body: "b") { id } }' });
    const { connection, received, closed } = await dial(socket);
    const head = [...REQUEST, `authorization: Bearer ${key}`, `content-length: ${body.length}`, '', ''];
    connection.write(head.join('\r\n') + body.slice(0, -1));
    await expect.poll(() => received.text).toContain(' 408 ');
    const logged = app.logged.length;
    connection.write(body.slice(-1));
    const timer = setInterval(() => connection.write(' '), 50);
    onTestFinished(() => clearInterval(timer));
    await closed;
    const query = 'query ($id: ID!) { user(id: $id) { posts { title } } }';
    expect(dataOf(await app.gql(query, { key, variables: { id } }))).toEqual({ user: { posts: [] } });
    expect(app.logged.slice(logged).join('')).not.toContain('mutation');
  });
});

describe('a request that cannot be read', () => {
  it.each([
    [
      'a URL past 16 KiB',
      `GET /graphql?query=${'x'.repeat(20_000)} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
      431,
    ],
    [
      'headers past 16 KiB',
      `GET /graphql HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ['no HTTP', 'HELO there\r\n\r\n', 400],
    ['two lengths', `${REQUEST.join('\r\n')}\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}`, 400],
    [
      'a length and chunks',
      `${REQUEST.join('\r\n')}\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`,
      400,
    ],
    ['a host that is none', 'GET /health/live HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n', 400],
  ])('is rejected in the shape of all rejections: %s', async (_what, request, status) => {
    const { statusLine, head, body } = parseResponse(await socket.send(request));
    expect(statusLine).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toMatch(/^content-type: application\/json/m);
    expect(body).toEqual({ errors: [{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }] });
  });
});

describe('a thousand idle connections', () => {
  const patient = useSocket(app);

  it('do not stop others', async () => {
    const idle = await Promise.all(Array.from({ length: 1_000 }, () => dial(patient)));
    const { key } = await app.account();
    const response = await patient.fetch('/graphql', graphqlPost('{ viewer { id } }', { key }));
    expect(response.status).toBe(200);
    expect((await patient.fetch('/health/live')).status).toBe(200);
    expect(idle.filter(({ connection }) => connection.destroyed)).toEqual([]);
  });
});

describe('a client that does not read its response', () => {
  const app = useApp({ settings: { MAX_RESPONSE_BYTES: '33554432' } });
  const patient = useSocket(app);
  const impatient = useSocket(app, { drainLimitMs: 300 });
  /** Past what the buffers of the kernel take at both ends of a connection. */
  const POSTS = 100;

  it('is cut off, and so holds no memory; one that reads on gets it whole', async () => {
    const { id, key } = await app.account();
    const body = '𝔹'.repeat(50_000);
    await seedPosts(
      app,
      Array.from({ length: POSTS }, () => ({ authorId: id, body })),
    );
    const query = JSON.stringify({ query: `{ viewer { posts(limit: ${POSTS}) { body } } }` });
    const head = [
      ...REQUEST,
      `authorization: Bearer ${key}`,
      `content-length: ${query.length}`,
      `x-request-id: ${REQUEST_ID}`,
      '',
      '',
    ];
    const { connection, received } = await dial(impatient);
    connection.pause();
    connection.write(head.join('\r\n') + query);
    await expect.poll(() => app.logged.join()).toContain(REQUEST_ID);
    await expect.poll(() => impatient.connections()).toBe(0);
    const ended = once(connection, 'end');
    connection.resume();
    await ended;
    const length = Number(/content-length: (\d+)/i.exec(received.text)?.[1]);
    expect(length).toBeGreaterThan(POSTS * 4 * 50_000);
    expect(Buffer.byteLength(received.text)).toBeLessThan(length);
    const whole = await patient.fetch('/graphql', {
      method: 'POST',
      body: query,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    });
    const { data } = (await whole.json()) as { data: { viewer: { posts: unknown[] } } };
    expect(data.viewer.posts).toHaveLength(POSTS);
  });
});

describe('bodies that arrive at the same time', () => {
  const crowded = useSocket(app, { maxBufferedBodyBytes: 400_000 });
  const query = '{"query":"{ __typename }"}';
  /** Sends a head and so much of a body, and ends its half once the other end has. */
  async function begin(head: readonly string[], body: string | Uint8Array) {
    const { connection, received, closed } = await dial(crowded);
    connection.once('end', () => connection.end());
    connection.write([...REQUEST, 'connection: close', ...head, '', ''].join('\r\n'));
    connection.write(body);
    return { connection, received, closed };
  }
  const quick = (key: string, body = query) =>
    crowded.fetch('/graphql', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    });

  it('hold no more than so much together: those that take the longest give way with 503, and the rest go on', async () => {
    const { key } = await app.account();
    const fields = [`authorization: Bearer ${key}`, 'content-length: 100000'];
    const slow = [];
    // Each lacks its end. Five do not fit.
    for (let n = 0; n < 8; n += 1) slow.push(await begin(fields, ' '.repeat(100_000 - query.length)));
    const oldest = slow[0];
    await oldest?.closed;
    const { statusLine, head, body } = parseResponse(oldest?.received.text ?? '');
    expect(statusLine).toBe('HTTP/1.1 503 Service Unavailable');
    expect(head).toMatch(/^retry-after: 1$/m);
    expect(head).toMatch(/^connection: close$/m);
    expect(body).toEqual({
      errors: [{ message: expect.any(String), extensions: { code: 'SERVICE_UNAVAILABLE' } }],
    });
    expect((await quick(key)).status).toBe(200);
    const last = slow.at(-1);
    last?.connection.write(query);
    await last?.closed;
    expect(parseResponse(last?.received.text ?? '')).toMatchObject({
      body: { data: { __typename: 'Query' } },
    });
  });

  it('leave their room to others whatever becomes of them', async () => {
    const { key } = await app.account();
    const padded = (bytes: number) => query + ' '.repeat(bytes - query.length);
    for (let n = 0; n < 10; n += 1) {
      const gone = await begin(['content-length: 200000'], padded(199_000));
      gone.connection.destroy();
      expect((await quick(key, padded(200_000))).status).toBe(200);
      expect((await quick(key, padded(1_100_000))).status).toBe(413);
      expect((await quick('none', padded(200_000))).status).toBe(401);
    }
  });

  it('are put together right, however small the pieces', async () => {
    const { key } = await app.account();
    const text = JSON.stringify({ query: '# 𝔹€ß\n{ __typename }'.padEnd(5_000, ' ') });
    const chunks = [...Buffer.from(text)].map((byte) =>
      Buffer.concat([Buffer.from('1\r\n'), Buffer.from([byte]), Buffer.from('\r\n')]),
    );
    const { received, closed } = await begin(
      [`authorization: Bearer ${key}`, 'transfer-encoding: chunked'],
      Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]),
    );
    await closed;
    expect(parseResponse(received.text).body).toEqual({ data: { __typename: 'Query' } });
  });
});
