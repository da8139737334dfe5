import type pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestApp, useApp } from '../support/app.ts';
import { LOCKS } from '../support/database/locks.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { besidePool, instanceThrough, postgresOf } from '../support/database/postgres.ts';
import {
  CREATE_ALONE,
  CREATE_POST,
  type KeyedRequest,
  postsNamed,
  send,
  storedFor,
} from '../support/keyed.ts';

/** How a mutation writes. */
const WRITES: readonly (readonly [string, Omit<KeyedRequest, 'variables'>])[] = [
  ['in one statement', { query: CREATE_ALONE }],
  ['in a transaction', { query: CREATE_POST }],
  ['with a key', { query: CREATE_POST, idempotencyKey: 'k' }],
];

/** An instance whose pool goes through PgBouncer, and a look past it at what its statements do. */
async function pooled(app: TestApp, settings: Partial<TestApp['config']> = {}) {
  const url = await pgbouncer(postgresOf(app).url);
  return { instance: await instanceThrough(app, { url }, settings), observer: await besidePool(app) };
}

async function lock(app: TestApp, mode: string): Promise<{ release(): Promise<void> }> {
  const client = await besidePool(app);
  await client.query(`BEGIN; LOCK TABLE posts IN ${mode} MODE`);
  return { release: async () => void (await client.query('ROLLBACK')) };
}

/** How many statements wait for a lock on posts. */
async function waiting(observer: pg.Client): Promise<number> {
  const { rows } = await observer.query(
    `SELECT FROM ${LOCKS} WHERE NOT granted AND relation = 'posts'::regclass`,
  );
  return rows.length;
}

/** A slow machine may take more than the time of a statement over it, once. */
const expectDone = (instance: Pick<TestApp, 'fetch'>, request: KeyedRequest) =>
  expect.poll(async () => (await send(instance, request)).status).toBe(200);

describe('Through a connection pooler in transaction mode', () => {
  describe('a statement past its time', () => {
    const app = useApp({ settings: { STATEMENT_TIMEOUT_MS: '1000' } });
    let account = { id: '', key: '' };
    beforeAll(async () => {
      account = await app.account();
    });

    it('of a query is 504 and is gone from the server, though the table is still held', async () => {
      const { instance, observer } = await pooled(app);
      const request = { query: '{ posts { id } }', key: account.key };
      await expectDone(instance, request);
      const held = await lock(app, 'ACCESS EXCLUSIVE');
      const responses = await Promise.all([1, 2, 3].map(() => send(instance, request)));
      for (const response of responses) expect(response).toMatchObject({ status: 504, codes: ['TIMEOUT'] });
      await expect.poll(() => waiting(observer)).toBe(0);
      await held.release();
      await expectDone(instance, request);
    });

    it.each(WRITES)('of a mutation is 504, is gone and has changed nothing: %s', async (way, request) => {
      const { instance, observer } = await pooled(app);
      const title = `never ${way} ${account.id}`;
      const whole = { variables: { title }, key: account.key, ...request };
      const held = await lock(app, 'SHARE ROW EXCLUSIVE');
      const response = await send(instance, whole);
      expect(response).toMatchObject({ status: 504, codes: ['TIMEOUT'] });
      await expect.poll(() => waiting(observer)).toBe(0);
      await held.release();
      expect(await postsNamed(app, title)).toBe(0);
      expect(await storedFor(app, account.id)).toBe(0);
      // Nothing of it is left behind: the same again is done once.
      await expectDone(instance, whole);
      expect(await postsNamed(app, title)).toBe(1);
      await app.prisma.idempotencyKey.deleteMany();
    });

    it.each(WRITES)('has no hold on a mutation that is let go in time: %s', async (way, request) => {
      const { instance, observer } = await pooled(app, { statementTimeoutMs: 60_000 });
      const title = `in time ${way} ${account.id}`;
      const held = await lock(app, 'SHARE ROW EXCLUSIVE');
      const response = send(instance, { variables: { title }, key: account.key, ...request });
      await expect.poll(() => waiting(observer)).toBe(1);
      await held.release();
      expect((await response).status).toBe(200);
      expect(await postsNamed(app, title)).toBe(1);
    });
  });

  describe('an operation past its time', () => {
    const app = useApp({ settings: { OPERATION_TIMEOUT_MS: '1000' } });
    let account = { id: '', key: '' };
    beforeAll(async () => {
      account = await app.account();
    });

    it('is 504, and what it ran is cancelled though the table is still held', async () => {
      const { instance, observer } = await pooled(app);
      const request = { query: '{ posts { id } }', key: account.key };
      await expectDone(instance, request);
      await lock(app, 'ACCESS EXCLUSIVE');
      expect(await send(instance, request)).toMatchObject({ status: 504, codes: ['TIMEOUT'] });
      await expect.poll(() => waiting(observer)).toBe(0);
    });

    it.each(WRITES)(
      'is 504 where it writes, and nothing is written then or later: %s',
      async (way, request) => {
        const { instance, observer } = await pooled(app);
        const title = `late ${way} ${account.id}`;
        const held = await lock(app, 'SHARE ROW EXCLUSIVE');
        const response = await send(instance, {
          variables: { title },
          key: account.key,
          ...request,
        });
        expect(response).toMatchObject({ status: 504, codes: ['TIMEOUT'] });
        await expect.poll(() => waiting(observer)).toBe(0);
        await held.release();
        expect(await postsNamed(app, title)).toBe(0);
      },
    );
  });
});
