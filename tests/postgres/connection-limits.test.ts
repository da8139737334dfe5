import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LogEventCode } from '../../src/platform/log/log-events.ts';
import { useApp } from '../support/app.ts';
import { createPost } from '../support/content.ts';
import { pgbouncer } from '../support/database/pgbouncer.ts';
import { connect, instanceThrough, postgresOf } from '../support/database/postgres.ts';
import { graphqlPost } from '../support/graphql.ts';
import { linesOf } from '../support/log-lines.ts';

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

const app = useApp();
const REQUESTS = 90;

/** The URL of a new role that may do everything, with so many connections. */
async function urlOfRole(connectionLimit: number): Promise<string> {
  const { url } = postgresOf(app);
  const admin = await connect(url);
  const role = `content_graph_limited_${randomBytes(6).toString('hex')}`;
  const owner = (await admin.query<{ user: string }>('SELECT current_user AS user')).rows[0]?.user ?? '';
  await admin.query(
    `CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT ${connectionLimit} IN ROLE ${owner}`,
  );
  onTestFinished(async () => void (await admin.query(`DROP ROLE ${role}`)));
  return Object.assign(new URL(url), { username: role, password: 'p' }).href;
}

/** An instance with a pool of ten connections that the role does not get. */
async function instanceWithRoomFor(connectionLimit: number) {
  const url = await urlOfRole(connectionLimit);
  return instanceThrough(app, { url, directUrl: postgresOf(app).url });
}

async function statusesOf(instance: Awaited<ReturnType<typeof instanceWithRoomFor>>): Promise<number[]> {
  const { key } = await app.account();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query: 'mutation { createPost(title: "t", body: "b") { author { id } } }' });
  const responses = Array.from({ length: REQUESTS }, async () => {
    const response = await instance.fetch('/graphql', { method: 'POST', headers, body });
    await response.text();
    return response.status;
  });
  return [...new Set(await Promise.all(responses))];
}

const linesWith = (event: LogEventCode) => linesOf(app.logged, event);

const unreachable = () => linesWith('database.unreachable');

describe('An instance whose database accepts fewer connections than the pool may have', () => {
  it.each([3, 1])('fails no request with room for %i', async (room) => {
    const instance = await instanceWithRoomFor(room);
    expect(await statusesOf(instance)).toEqual([200]);
  });

  it.each([3, 1])(
    'serves again after all its connections are lost under load, with room for %i',
    async (room) => {
      const url = await urlOfRole(room);
      const instance = await instanceThrough(app, { url, directUrl: postgresOf(app).url });
      const admin = await connect(postgresOf(app).url);
      const { username } = new URL(url);
      for (let time = 0; time < 3; time += 1) {
        const statuses = statusesOf(instance);
        await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [
          username,
        ]);
        for (const status of await statuses) expect([200, 401, 503]).toContain(status);
      }
      await expect.poll(() => statusesOf(instance)).toEqual([200]);
    },
  );

  it('goes on with one connection after a wait for a lock was too long', async () => {
    const instance = await instanceWithRoomFor(1);
    const { key } = await app.account();
    const id = await createPost(app, key);
    const holder = await connect(postgresOf(app).url);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM public.posts WHERE id = $1 FOR UPDATE', [id]);
    const edit = instance.fetch(
      '/graphql',
      graphqlPost(`mutation { updatePost(id: "${id}", title: "new") { title } }`, { key }),
    );
    await expect.poll(async () => (await holder.query(WAITING)).rowCount).toBeGreaterThan(0);
    const others = statusesOf(instance);
    await holder.query('COMMIT');
    expect((await edit).status).toBe(200);
    expect(await others).toEqual([200]);
  });

  it('says that no further connection is accepted', () => {
    const [line] = linesWith('database.connection_limit_reached');
    expect(line).toMatchObject({ reason: expect.stringContaining('too many connections') });
  });

  it('responds with 503 and gives the reason in the log with room for none', async () => {
    const instance = await instanceWithRoomFor(0);
    expect(await statusesOf(instance)).toEqual([503]);
    await expect.poll(unreachable).toContainEqual(
      expect.objectContaining({
        reason: expect.stringContaining('too many connections'),
        hint: expect.stringContaining('max_connections'),
      }),
    );
  });
});

describe('An instance whose PgBouncer accepts fewer connections than the pool may have (max_client_conn)', () => {
  /** An instance behind a PgBouncer, and the URL of the database through it. */
  async function instanceBehindPooler(maxClients: number) {
    const directUrl = postgresOf(app).url;
    const url = await pgbouncer(directUrl, onTestFinished, { max_client_conn: String(maxClients) });
    return { url, start: () => instanceThrough(app, { url, directUrl }) };
  }

  it.each([3, 1])('fails no request with room for %i', async (room) => {
    const { start } = await instanceBehindPooler(room);
    expect(await statusesOf(await start())).toEqual([200]);
  });

  it('responds with 503 and gives the reason in the log with room for none', async () => {
    const { url, start } = await instanceBehindPooler(1);
    await connect(url);
    expect(await statusesOf(await start())).toEqual([503]);
    await expect
      .poll(unreachable)
      .toContainEqual(
        expect.objectContaining({ reason: expect.stringContaining('no more connections allowed') }),
      );
  });
});
