import { createHmac } from 'node:crypto';
import { parse, print } from 'graphql';
import { describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { oldResponses } from '../../../src/engine/mutations/idempotency/response-store.ts';
import { useApp } from '../../support/app.ts';
import { PASSWORD, visitor } from '../../support/credentials/session.ts';
import { age } from '../../support/database/aged.ts';
import { CREATE_POST, postsNamed, send, storedFor } from '../../support/keyed.ts';

/** What it did is in the statistics before it is asked for them. */
const ONE_CONNECTION = { DATABASE_POOL_SIZE: '1' };
const FLUSH = statement<never>('test_flush', 'SELECT pg_stat_force_next_flush()::text');
const TOUCHES = statement<{ scans: number; lookups: number; writes: number }>(
  'test_touches',
  `SELECT seq_scan::int AS scans, coalesce(idx_scan, 0)::int AS lookups, (n_tup_ins + n_tup_upd + n_tup_del)::int AS writes
   FROM pg_stat_user_tables WHERE relname = 'idempotency_keys'`,
);
const HOUR_MS = 3_600_000;

describe('A stored response', () => {
  const app = useApp({ settings: { IDEMPOTENCY_RETENTION_HOURS: '24' } });

  it('is kept for the retention and not longer: after it the key is new', async () => {
    const { key, id } = await app.account();
    const title = `expiring ${id}`;
    const request = { query: CREATE_POST, variables: { title }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    await age(app, 'idempotency_keys', 23 * HOUR_MS);
    expect(await send(app, request)).toMatchObject({ text: first.text, replayed: 'true' });
    await age(app, 'idempotency_keys', 2 * HOUR_MS);
    const other = { ...request, variables: { title: `${title}, again` } };
    const second = await send(app, other);
    expect(second).toMatchObject({ status: 200, replayed: null });
    expect(await storedFor(app, id)).toBe(1);
    expect(await postsNamed(app, title)).toBe(1);
    expect(await send(app, other)).toMatchObject({ text: second.text, replayed: 'true' });
  });

  it('is found by the same fingerprint in every version: a retry may cross an upgrade', async () => {
    const { key, id } = await app.account();
    const query =
      'mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id } }';
    const variables = { title: 't', body: 'b' };
    await send(app, { query, variables, key, idempotencyKey: 'k' });
    const text = JSON.stringify([print(parse(query)), null, { body: 'b', title: 't' }]);
    const [stored] = await app.prisma.idempotencyKey.findMany({ where: { userId: id } });
    expect(Buffer.from(stored?.fingerprint ?? []).toString('hex')).toBe(
      createHmac('sha256', 'k').update(text).digest('hex'),
    );
  });

  it('is dropped after the retention, in batches, and those within it stay', async () => {
    const { key, id } = await app.account();
    await app.prisma.idempotencyKey.createMany({
      data: Array.from({ length: 1_203 }, (_, index) => ({
        userId: id,
        keyHash: Buffer.from(`old ${index}`),
        fingerprint: Buffer.alloc(32),
        status: 200,
        body: Buffer.alloc(64),
        createdAt: new Date(Date.now() - 25 * HOUR_MS),
      })),
    });
    const request = { query: CREATE_POST, variables: { title: `kept ${id}` }, key, idempotencyKey: 'k' };
    const first = await send(app, request);
    expect(await oldResponses(24 * HOUR_MS).run(app.database)).toBe(1_203);
    expect(await storedFor(app, id)).toBe(1);
    expect(await send(app, request)).toMatchObject({ text: first.text, replayed: 'true' });
  });

  it('that holds a secret is not in the table in clear, nor is the key or what was asked', async () => {
    const { id, cookie } = await visitor(app);
    const idempotencyKey = `a key that is nobody’s`.replace('’', "'");
    const query = `mutation ($name: String!) {
      createApiKey(name: $name, scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key } }`;
    const request = { query, variables: { name: 'a recognisable name' }, cookie, idempotencyKey };
    const first = await send(app, request);
    const { key: secret } = JSON.parse(first.text).data.createApiKey;
    const rows = await app.prisma.idempotencyKey.findMany({ where: { userId: id } });
    expect(rows).toHaveLength(1);
    const bytes = Buffer.concat(
      rows.flatMap(({ keyHash, fingerprint, body }) => [keyHash, fingerprint, body]),
    );
    for (const text of [secret, secret.slice(-12), 'createApiKey', idempotencyKey, 'a recognisable name'])
      expect(bytes.includes(text)).toBe(false);
    expect(await send(app, request)).toMatchObject({ text: first.text, replayed: 'true' });
    expect(await send(app, { query: '{ posts { id } }', key: secret })).toMatchObject({ status: 200 });
  });
});

describe('The table of stored responses', () => {
  const app = useApp({ settings: ONE_CONNECTION });

  /** How often the table was read and written so far, and how. */
  async function touches() {
    await app.database.query(FLUSH, []);
    const [row] = await app.database.query(TOUCHES, []);
    if (row === undefined) throw new Error('the database keeps no statistics of its tables');
    return row;
  }

  it('is left alone by mutations without a key, by queries, and by a malformed key', async () => {
    const { key, id } = await app.account();
    const before = await touches();
    for (let turn = 0; turn < 5; turn += 1) {
      await send(app, { query: CREATE_POST, variables: { title: `keyless ${id}` }, key });
      await send(app, { query: '{ viewer { id } }', key, idempotencyKey: 'k' });
      await send(app, { query: CREATE_POST, variables: { title: 'x' }, key, idempotencyKey: '""' });
    }
    expect(await touches()).toEqual(before);
    expect(await postsNamed(app, `keyless ${id}`)).toBe(5);
  });

  it('is read once, by its index, for a replay and for a rejection of a reused key', async () => {
    const { key } = await app.account();
    const request = { query: CREATE_POST, variables: { title: 'indexed' }, key, idempotencyKey: 'k' };
    await send(app, request);
    const before = await touches();
    for (let turn = 1; turn <= 5; turn += 1) {
      expect((await send(app, request)).replayed).toBe('true');
      expect((await send(app, { ...request, variables: { title: 'other' } })).status).toBe(422);
      expect(await touches()).toEqual({ ...before, lookups: before.lookups + 2 * turn });
    }
  });
});
