import { once } from 'node:events';
import { connect, type Socket as NetSocket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { readMetric } from '../../../support/metrics.ts';
import { repeated } from '../../../support/schema/repeated.ts';
import { useSocket } from '../../../support/socket.ts';

const MIB = 1_048_576;
const POSTS = 20;
/** 16 MB: past what the buffers of the kernel take at both ends of a connection whose reader does not read. */
const LARGE = `{ viewer { posts(limit: ${POSTS}) { ${repeated(4, (i) => `b${i}: body`)} } } }`;
const LARGE_BYTES = POSTS * 4 * 200_000;
const MUTATION = `mutation { createPost(title: "never", body: "b") { author { posts(limit: ${POSTS}) { ${repeated(4, (i) => `b${i}: body`)} } } } }`;
const SMALL = '{ viewer { posts(limit: 1) { title } } }';

const app = useApp({
  settings: {
    MAX_RESPONSE_BYTES: String(32 * MIB),
    // An account's eighth has room for one large response and not for two.
    MAX_PENDING_RESPONSE_BYTES: String(8 * 24 * MIB),
  },
});

/** An account with posts whose bodies make a large response. */
async function author(): Promise<Account> {
  const account = await app.account();
  await seedPosts(
    app,
    Array.from({ length: POSTS }, () => ({ authorId: account.id, body: '𝔹'.repeat(50_000) })),
  );
  return account;
}

/** Asks on a connection of its own, whose response nobody reads until the caller does. */
async function ask(origin: string, key: string, query: string): Promise<NetSocket> {
  const connection = connect({ port: Number(new URL(origin).port), host: '127.0.0.1' });
  onTestFinished(() => void connection.destroy());
  connection.on('error', () => undefined);
  await once(connection, 'connect');
  const { body, headers } = graphqlPost(query, { key });
  const head = ['POST /graphql HTTP/1.1', 'host: localhost', `content-length: ${body.length}`];
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`);
  connection.pause();
  connection.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return connection;
}

const pending = () => readMetric(app, 'content_graph_response_pending_bytes');
const cutOff = () => readMetric(app, 'content_graph_responses_aborted_total');

describe('an account whose responses nobody reads', () => {
  const socket = useSocket(app);
  let hoarder: Account;
  let other: Account;

  beforeAll(async () => {
    hoarder = await author();
    other = await author();
  });

  it('gets 429 with Retry-After past its eighth, and others get what they ask for', async () => {
    const waiting = await ask(socket.origin, hoarder.key, LARGE);
    await expect.poll(pending).toBeGreaterThan(LARGE_BYTES);

    const rejected = await socket.fetch('/graphql', graphqlPost(LARGE, { key: hoarder.key }));
    expect(rejected.status).toBe(429);
    expect(rejected.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(await rejected.json()).toEqual({
      errors: [{ message: expect.any(String), extensions: { code: 'RATE_LIMITED' } }],
    });

    // A mutation whose response has no room is undone, and its key is as if it had never been used.
    const headers = { 'idempotency-key': 'no room' };
    const mutation = await socket.fetch('/graphql', graphqlPost(MUTATION, { key: hoarder.key, headers }));
    expect([mutation.status, mutation.headers.get('retry-after')]).toEqual([429, '1']);
    const titles = await app.gql('{ viewer { posts(limit: 100) { title } } }', { key: hoarder.key });
    expect(titles.data.viewer.posts).toHaveLength(POSTS);

    expect((await socket.fetch('/graphql', graphqlPost(SMALL, { key: hoarder.key }))).status).toBe(200);
    const served = await socket.fetch('/graphql', graphqlPost(LARGE, { key: other.key }));
    expect(served.status).toBe(200);
    expect((await served.arrayBuffer()).byteLength).toBeGreaterThan(LARGE_BYTES);

    waiting.destroy();
    await expect.poll(pending).toBe(0);
    const again = await socket.fetch('/graphql', graphqlPost(LARGE, { key: hoarder.key }));
    expect(again.status).toBe(200);
    await again.arrayBuffer();
    const retried = await socket.fetch('/graphql', graphqlPost(MUTATION, { key: hoarder.key, headers }));
    expect([retried.status, retried.headers.get('idempotency-replayed')]).toEqual([200, null]);
    await retried.arrayBuffer();
  });
});

describe('a reader of a response', () => {
  const impatient = useSocket(app, { drainLimitMs: 500 });

  it('that takes a little now and then is cut off, and what it held is free', async () => {
    const { key } = await author();
    const before = await cutOff();
    const connection = await ask(impatient.origin, key, LARGE);
    const reading = { done: false };
    const read = (async () => {
      while (!reading.done) {
        connection.read(1_024);
        await delay(10);
      }
    })();
    try {
      await expect.poll(cutOff).toBe(before + 1);
      await expect.poll(pending).toBe(0);
    } finally {
      reading.done = true;
      await read;
    }
  });
});
