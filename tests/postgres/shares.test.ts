import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { useApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { freshCookie, gqlAs, login, PASSWORD, person, visitor } from '../support/credentials/session.ts';
import { besidePool } from '../support/database/postgres.ts';
import { send } from '../support/keyed.ts';
import { readMetric } from '../support/metrics.ts';
import { dataOf } from '../support/rejection.ts';

describe('Locks that one account holds', () => {
  const app = useApp({ settings: { DATABASE_POOL_SIZE: '6' } });

  /** Holds the row of a table in a transaction of somebody else's. */
  async function hold(table: 'posts' | 'users' | 'sessions' | 'api_keys', column: string, id: string) {
    const client = await besidePool(app);
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [id]);
    return {
      release: async () => void (await client.query('ROLLBACK')),
      /** How many statements wait for a lock. */
      async waiting() {
        // Within a transaction it would know of no backend that has come since.
        await client.query('SELECT pg_stat_clear_snapshot()');
        const { rows } = await client.query<{ count: number }>(
          `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        );
        return rows[0]?.count ?? 0;
      },
    };
  }

  it('do not keep others from writing while its keyed mutations wait for them', async () => {
    const own = await app.account();
    const other = await app.account();
    const locked = await createPost(app, own.key);
    const free = await createPost(app, other.key);
    const held = await hold('posts', 'id', locked);
    let responded = 0;
    const waiting = Array.from({ length: 30 }, (_, index) =>
      send(app, {
        query: `mutation { updatePost(id: "${locked}", title: "${index}") { id } }`,
        key: own.key,
        idempotencyKey: `key ${index}`,
      }).then((result) => {
        responded += 1;
        return result;
      }),
    );
    await expect.poll(() => held.waiting()).toBeGreaterThan(0);
    for (let index = 0; index < 5; index += 1) await createComment(app, other.key, free);
    expect(responded).toBe(0);
    await held.release();
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
  });

  it('hold two connections at most while its log-ins and log-outs wait for them', async () => {
    const { id, email, cookie } = await visitor(app);
    const other = await app.account();
    dataOf(await app.gql('{ posts { id } }', { key: other.key }));
    const held = await hold('sessions', 'user_id', id);
    let responded = 0;
    const logouts = Array.from({ length: 12 }, () =>
      app.fetch('/logout', { method: 'POST', headers: { cookie } }).then(({ status }) => {
        responded += 1;
        return status;
      }),
    );
    await expect.poll(() => held.waiting()).toBeGreaterThan(0);
    for (let look = 0; look < 5; look += 1) {
      dataOf(await app.gql('{ posts { id } }', { key: other.key }));
      expect(await held.waiting()).toBeLessThanOrEqual(2);
      await delay(50);
    }
    expect(responded).toBe(0);
    expect(await readMetric(app, 'content_graph_graphql_operations_waiting')).toBe(0);
    await held.release();
    for (const status of await Promise.all(logouts)) expect(status).toBe(204);
    expect(await freshCookie(app, email)).not.toBe('');
  });

  it('keep no place in line while its log-ins and log-outs pause: others log in and out', async () => {
    const { id, email, cookie } = await visitor(app);
    const other = await person(app);
    const heldAccount = await hold('users', 'id', id);
    const heldSessions = await hold('sessions', 'user_id', id);
    let responded = 0;
    const status = (response: Promise<Response>) =>
      response.then((result) => {
        responded += 1;
        return result.status;
      });
    const waiting = Array.from({ length: 6 }, () => [
      status(app.fetch('/logout', { method: 'POST', headers: { cookie } })),
      status(login(app, { email, password: PASSWORD })),
    ]).flat();
    await expect.poll(() => heldAccount.waiting()).toBe(2);
    const otherCookie = await freshCookie(app, other.email);
    const loggedOut = await app.fetch('/logout', { method: 'POST', headers: { cookie: otherCookie } });
    expect(loggedOut.status).toBe(204);
    expect(responded).toBe(0);
    await heldSessions.release();
    await heldAccount.release();
    for (const result of await Promise.all(waiting)) expect([200, 204, 504]).toContain(result);
  });

  it('are not waited for by the use of credentials, and others’ uses are stored with it', async () => {
    const own = await visitor(app);
    const other = await app.account();
    const longAgo = new Date(Date.now() - 3_600_000);
    await app.prisma.session.updateMany({ where: { userId: own.id }, data: { lastSeenAt: longAgo } });
    const keys: string[] = [];
    for (let index = 0; index < 20; index += 1)
      for (const { id: userId } of [own, other])
        keys.push((await createApiKey(app.database, { userId, name: 'k', scopes: ['posts:read'] })).key);
    const held = await hold('api_keys', 'user_id', own.id);
    const heldSessions = await hold('sessions', 'user_id', own.id);
    const used = ({ id: userId }: { readonly id: string }) =>
      app.prisma.apiKey.count({ where: { userId, name: 'k', lastUsedAt: { not: null } } });
    // All at once, so that nearly all uses are gathered.
    for (const result of await Promise.all([
      gqlAs(app, own.cookie, '{ posts { id } }'),
      ...keys.map((key) => app.gql('{ posts { id } }', { key })),
    ]))
      dataOf(result);
    expect(await held.waiting()).toBe(0);
    await expect.poll(() => used(other)).toBe(20);
    expect(await held.waiting()).toBe(0);
    expect(await used(own)).toBe(0);
    await heldSessions.release();
    await held.release();
    const [session] = await app.prisma.session.findMany({ where: { userId: own.id } });
    expect(session?.lastSeenAt).toEqual(longAgo);
  });

  it('are waited for by a log-in, which begins again until it gets its own', async () => {
    const { id, email } = await visitor(app);
    const held = await hold('users', 'id', id);
    const login = freshCookie(app, email);
    await expect.poll(() => held.waiting()).toBeGreaterThan(0);
    await expect.poll(() => held.waiting()).toBe(0);
    await held.release();
    expect(await login).not.toBe('');
  });
});
