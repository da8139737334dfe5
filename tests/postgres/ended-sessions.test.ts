import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import type pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type TestApp, useApp } from '../support/app.ts';
import { LOCKS } from '../support/database/locks.ts';
import { besidePool, instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { CREATE_ALONE, CREATE_POST, type KeyedRequest, postsNamed, send } from '../support/keyed.ts';

/** The SQLSTATE with which pg_terminate_backend ends a session (admin_shutdown), as a field of PostgreSQL's protocol. */
const TERMINATED = 'C57P01\0';

/** The URL of the PostgreSQL at `url`, whose terminated sessions end with the SQLSTATE `code` instead. */
async function proxyWithCode(url: string, code: string): Promise<string> {
  const target = new URL(url);
  const [host, port] = [target.hostname, Number(target.port || 5432)];
  const server = createServer((client) => {
    const database = connect(port, host);
    client.on('error', () => database.destroy()).on('close', () => database.destroy());
    database.on('error', () => client.destroy()).on('close', () => client.end());
    client.on('data', (data: Buffer) => database.write(data));
    database.on('data', (data: Buffer) =>
      client.write(Buffer.from(data.toString('latin1').replace(TERMINATED, `C${code}\0`), 'latin1')),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  target.hostname = '127.0.0.1';
  target.port = String((server.address() as AddressInfo).port);
  return target.href;
}

/** Waits for a statement that a lock on posts blocks, then ends its session. */
async function endBlockedSession(observer: pg.Client): Promise<void> {
  const end = async () => {
    const { rowCount } = await observer.query(
      `SELECT pg_terminate_backend(pid) FROM ${LOCKS} WHERE NOT granted AND relation = 'public.posts'::regclass`,
    );
    return rowCount;
  };
  await expect.poll(end).toBe(1);
}

async function lockPosts(app: TestApp): Promise<pg.Client> {
  const holder = await besidePool(app);
  await holder.query('BEGIN; LOCK TABLE public.posts IN ACCESS EXCLUSIVE MODE');
  return holder;
}

const OPERATIONS: readonly (readonly [string, Partial<KeyedRequest>])[] = [
  ['a query', { query: '{ posts { id } }' }],
  ['a mutation in one statement', { query: CREATE_ALONE }],
  ['a mutation in a transaction', { query: CREATE_POST }],
  ['a mutation with a key', { query: CREATE_POST, idempotencyKey: 'k' }],
];

describe.each([
  ['25P03', 'idle_in_transaction_session_timeout'],
  ['25P04', 'transaction_timeout'],
])('A session that PostgreSQL ends with %s (%s)', (code) => {
  const app = useApp();

  it.each(OPERATIONS)(
    'makes %s 503, changes nothing, and the next request succeeds',
    async (way, request) => {
      const url = await proxyWithCode(postgresOf(app).url, code);
      const instance = await instanceThrough(app, { url, directUrl: url });
      const { key } = await app.account();
      const title = `${way} ${code}`;
      const whole = { query: '', variables: { title }, key, ...request };
      expect(await send(instance, { ...whole, query: '{ posts { id } }', variables: {} })).toMatchObject({
        status: 200,
      });
      const holder = await lockPosts(app);
      const response = send(instance, whole);
      await endBlockedSession(await besidePool(app));
      expect(await response).toMatchObject({ status: 503, codes: ['SERVICE_UNAVAILABLE'] });
      await holder.query('ROLLBACK');
      expect(await postsNamed(app, title)).toBe(0);
      expect((await send(instance, whole)).status).toBe(200);
      expect(await postsNamed(app, title)).toBe(request.query?.startsWith('mutation') ? 1 : 0);
    },
  );
});
