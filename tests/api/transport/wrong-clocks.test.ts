import { beforeAll, describe, expect, it, vi } from 'vitest';
import { createJobs } from '../../../src/app/create-app.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { statement } from '../../../src/database/statement.ts';
import { newId } from '../../../src/platform/ids.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createComment, createPost } from '../../support/content.ts';
import { oauthClient } from '../../support/credentials/oauth.ts';
import { freshCookie, visitor } from '../../support/credentials/session.ts';
import { CREATE_POST, postsNamed, send, storedFor } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribe, titlesOf } from '../../support/streams/subscriber.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const HOUR_MS = 3_600_000;
const off = (hours: number) => clockOf(() => Date.now() + hours * HOUR_MS);
/** When the last of everything of an account was created, and of its posts. */
const CREATED = statement<{ of: string; ms: number }>(
  'test_created',
  [
    'users WHERE id = $1',
    'api_keys WHERE user_id = $1',
    'posts WHERE author_id = $1',
    'comments WHERE author_id = $1',
    'tags WHERE post_id = (SELECT id FROM posts WHERE author_id = $1)',
    'oauth_clients WHERE owner_id = $1',
  ]
    .map(
      (of) =>
        `SELECT '${of.split(' ')[0]}' AS of, extract(epoch FROM created_at)::float8 * 1000 AS ms FROM ${of.replace('$1', '$1::uuid')}`,
    )
    .join(' UNION ALL '),
);
const VIEWER = '{ viewer { id } }';

describe('Beside instances whose clocks are 25 hours ahead and 25 hours behind (contract: time)', () => {
  const app = useApp({ settings: { CREDENTIAL_RECHECK_MS: '50' } });
  let instances: Pick<TestApp, 'fetch'>[] = [];
  const open = () => {
    instances = [app, secondInstance(app, { clock: off(25) }), secondInstance(app, { clock: off(-25) })];
  };
  let account = { id: '', key: '' };
  beforeAll(async () => {
    account = await app.account();
  });

  it('a keyed mutation is done once, wherever it is sent first and again', async () => {
    open();
    const { id, key } = await app.account();
    for (const [turn, first] of instances.entries()) {
      const title = `once ${turn} ${id}`;
      const request = { query: CREATE_POST, variables: { title }, key, idempotencyKey: title };
      const response = await send(first, request);
      expect(response).toMatchObject({ status: 200, replayed: null });
      for (const instance of instances)
        expect(await send(instance, request)).toMatchObject({ text: response.text, replayed: 'true' });
      expect(await postsNamed(app, title)).toBe(1);
    }
    expect(await storedFor(app, id)).toBe(instances.length);
  });

  it('an API key lasts as long as the database says, no shorter and no longer', async () => {
    open();
    const keyThatEnds = async (inMs: number) => {
      const { id, key } = await createApiKey(app.database, { userId: account.id, name: 'k', scopes: SCOPES });
      await app.prisma.apiKey.update({ where: { id }, data: { expiresAt: new Date(Date.now() + inMs) } });
      return key;
    };
    const [live, dead] = [await keyThatEnds(20 * HOUR_MS), await keyThatEnds(-HOUR_MS)];
    for (const instance of instances) {
      expect((await send(instance, { query: VIEWER, key: live })).status).toBe(200);
      expect((await send(instance, { query: VIEWER, key: dead })).status).toBe(401);
    }
  });

  it('a session is good everywhere, wherever it was begun, and one past its time nowhere', async () => {
    open();
    const { email, id } = await visitor(app);
    for (const begun of instances) {
      const cookie = await freshCookie(begun, email);
      for (const instance of instances)
        expect((await send(instance, { query: VIEWER, cookie })).status).toBe(200);
      const session = await app.prisma.session.findFirstOrThrow({
        where: { userId: id },
        orderBy: { id: 'desc' },
      });
      expect(Math.abs(session.createdAt.getTime() - Date.now())).toBeLessThan(HOUR_MS);
      await app.prisma.session.updateMany({
        where: { userId: id },
        data: { expiresAt: new Date(Date.now() - 1_000) },
      });
      for (const instance of instances)
        expect((await send(instance, { query: VIEWER, cookie })).status).toBe(401);
    }
  });

  it('an event stream goes on while its credentials hold', async () => {
    open();
    const { key } = await createApiKey(app.database, {
      userId: account.id,
      name: 'k',
      scopes: SCOPES,
      expiresAt: new Date(Date.now() + 20 * HOUR_MS),
    });
    const streams = await Promise.all(instances.map((instance) => subscribe(instance, { key })));
    // The credentials of each are looked up again and again meanwhile.
    for (let n = 0; n < 20; n += 1) await createPost(app, account.key, { title: `event ${n}` });
    const expected = Array.from({ length: 20 }, (_, n) => `event ${n}`);
    for (const stream of streams) expect(titlesOf(await stream.until('event 19'))).toEqual(expected);
  });

  it('nothing is tidied away early: what is kept for a time has an age by the database’s clock', async () => {
    open();
    const { prisma } = app;
    const { startId } = await subscribe(app, { key: account.key });
    await createPost(app, account.key, { title: 'kept' });
    const { email } = await visitor(app);
    for (const instance of instances) await freshCookie(instance, email);
    await prisma.revokedToken.create({ data: { jti: newId(), expiresAt: new Date(Date.now() + HOUR_MS) } });
    const counts = () =>
      Promise.all([
        prisma.event.count(),
        prisma.idempotencyKey.count(),
        prisma.session.count({ where: { expiresAt: { gt: new Date() } } }),
        prisma.revokedToken.count(),
      ]);
    const before = await counts();
    const { signal } = new AbortController();
    for (const { run } of createJobs(app.config)) await run(app.database, signal);
    expect(await counts()).toEqual(before);
    const resumed = await subscribe(app, { key: account.key, header: startId });
    expect(titlesOf(await resumed.until('kept'))).toEqual(['kept']);
  });

  it('what is created has the date of the database', async () => {
    const startMs = Date.now();
    // Not ahead: ids are in order of creation, and those of this process would stay ahead.
    vi.useFakeTimers({ toFake: ['Date'], now: startMs - 25 * HOUR_MS });
    try {
      const { id, key } = await app.account();
      const post = await createPost(app, key, { tags: ['t'] });
      await createComment(app, key, post);
      await oauthClient(app, { owner: { id } });
      const instants = await app.database.query(CREATED, [id]);
      expect(instants).toHaveLength(6);
      for (const { of, ms } of instants)
        expect({ of, off: Math.abs(ms - startMs) < HOUR_MS }).toEqual({ of, off: true });
    } finally {
      vi.useRealTimers();
    }
  });
});
