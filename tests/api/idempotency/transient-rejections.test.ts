import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { cookieOf, freshCookie, PASSWORD, visitor } from '../../support/credentials/session.ts';
import { CREATE_ALONE, CREATE_POST, postsNamed, send, storedFor } from '../../support/keyed.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

describe('A failure that says nothing of the mutation', () => {
  const time = { now: Date.now() };
  const app = useApp({ settings: { AUTH_FAILURE_BURST: '3' }, clock: clockOf(() => time.now) });

  it('by the end of the credentials is not stored: the client signs in and gets it done', async () => {
    const person = await visitor(app);
    const sessions = JSON.parse(
      (await send(app, { query: '{ viewer { sessions { id } } }', cookie: person.cookie })).text,
    ).data.viewer.sessions;
    const query = `mutation { revokeSession(id: "${sessions[0].id}") createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { key } }`;
    const request = { query, idempotencyKey: 'k' };
    const rejected = await send(app, { ...request, cookie: person.cookie });
    expect(rejected).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'], replayed: null });
    expect(rejected.headers.get('www-authenticate')).not.toBeNull();
    expect(await storedFor(app, person.id)).toBe(0);
    const cookie = await freshCookie(app, person.email);
    const again = await send(app, { ...request, cookie });
    expect(again).toMatchObject({ status: 200, codes: [], replayed: null });
    expect(await send(app, { ...request, cookie })).toMatchObject({ text: again.text, replayed: 'true' });
  });

  it('by a limit on failures is not stored: the client waits and gets it done', async () => {
    const person = await visitor(app);
    const change = (currentPassword: string) =>
      `mutation { changePassword(currentPassword: "${currentPassword}", newPassword: "a long new password") }`;
    const wrong = { query: change('wrong'), cookie: person.cookie };
    await expect.poll(async () => (await send(app, wrong)).codes).toEqual(['RATE_LIMITED']);
    const request = { query: change(PASSWORD), idempotencyKey: 'k', cookie: person.cookie };
    expect(await send(app, request)).toMatchObject({ codes: ['RATE_LIMITED'], replayed: null });
    expect(await storedFor(app, person.id)).toBe(0);
    time.now += 60_000;
    const done = await send(app, request);
    expect(done).toMatchObject({ status: 200, codes: [], replayed: null });
    const again = await send(app, { ...request, cookie: cookieOf(done) });
    expect(again).toMatchObject({ status: 200, codes: [], replayed: 'true' });
  });

  it('after the commit leaves the outcome unknown', async () => {
    const { id, key } = await app.account();
    const title = `at the end of time ${id}`;
    // What was written cannot be shown: no DateTime has it.
    await app.prisma.$executeRawUnsafe(`CREATE FUNCTION no_instant() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.created_at := 'infinity'; RETURN NEW; END $$`);
    await app.prisma.$executeRawUnsafe(
      `CREATE TRIGGER no_instant BEFORE INSERT ON posts FOR EACH ROW WHEN (NEW.title = '${title}') EXECUTE FUNCTION no_instant()`,
    );
    const request = { query: CREATE_ALONE, variables: { title }, key };
    const response = await send(app, request);
    expect(response).toMatchObject({ status: 503, codes: ['SERVICE_UNAVAILABLE'] });
    expect(JSON.parse(response.text).errors[0].extensions.outcome).toBe('unknown');
    expect(await postsNamed(app, title)).toBe(1);
    // The key tells that it was done.
    const stored = { status: 200, codes: [], replayed: 'true' };
    expect(await send(app, { ...request, idempotencyKey: 'statement' })).toMatchObject(stored);
    expect(await postsNamed(app, title)).toBe(2);
    // A transaction builds the response first: nothing is done, and the failure is plain.
    const plain = { status: 500, codes: ['INTERNAL_SERVER_ERROR'], replayed: null };
    const long = { ...request, query: CREATE_POST, idempotencyKey: 'transaction' };
    expect(await send(app, long)).toMatchObject(plain);
    expect(await postsNamed(app, title)).toBe(2);
  });
});
