import { expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { DatabaseError } from '../../../src/database/errors.ts';
import { useApp } from '../../support/app.ts';
import {
  cookieOf,
  freshCookie,
  gqlAs,
  login,
  PASSWORD,
  person,
  visitor,
} from '../../support/credentials/session.ts';
import { send, storedFor } from '../../support/keyed.ts';
import { dataOf, expectBadInput, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';

const PAGE = 'https://app.example.com';
const app = useApp({ settings: { MAX_RESPONSE_BYTES: '20000', CORS_ORIGINS: PAGE } });
const VIEWER = '{ viewer { id } }';
const NEW_PASSWORD = 'another long password';
const FIELD = 'changePassword(currentPassword: $current, newPassword: $next)';
const CHANGE = `mutation ($current: String!, $next: String!) { ${FIELD} }`;
const CHANGED = { current: PASSWORD, next: NEW_PASSWORD };

const statusWith = async (cookie: string) => (await gqlAs(app, cookie, VIEWER)).status;
const change = (cookie: string, headers: Record<string, string> = {}) =>
  gqlAs(app, cookie, CHANGE, { variables: CHANGED, headers });

it('gives the session a new id, and ends the old one, the other sessions and the old password', async () => {
  const { email, cookie, key } = await visitor(app);
  const other = await freshCookie(app, email);
  const result = await change(cookie);
  expect(dataOf(result)).toEqual({ changePassword: true });
  expect(result.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^session_id=[\w-]{43}; HttpOnly; Secure; SameSite=Strict; Path=\/$/),
  ]);
  expect(await statusWith(cookieOf(result))).toBe(200);
  for (const ended of [cookie, other]) expect(await statusWith(ended)).toBe(401);
  expect((await app.gql(VIEWER, { key })).status).toBe(200);
  expect((await login(app, { email, password: PASSWORD })).status).toBe(401);
  expect((await login(app, { email, password: NEW_PASSWORD })).status).toBe(200);
});

it('leaves one session, which is new, lives for its full time and knows its browser', async () => {
  const { id, email } = await visitor(app);
  const browser = { 'user-agent': 'Browser/1.0' };
  const cookie = cookieOf(await login(app, { email, password: PASSWORD }, browser));
  const tomorrow = new Date(Date.now() + 86_400_000);
  await app.prisma.session.updateMany({
    where: { userId: id },
    data: { expiresAt: tomorrow, absoluteExpiresAt: tomorrow },
  });
  const query = '{ viewer { sessions { id userAgent current } } }';
  const before: { id: string }[] = dataOf(await gqlAs(app, cookie, query)).viewer.sessions;
  const after = dataOf(await gqlAs(app, cookieOf(await change(cookie)), query)).viewer.sessions;
  expect(after).toEqual([{ id: expect.any(String), userAgent: 'Browser/1.0', current: true }]);
  expect(before.map((session) => session.id)).not.toContain(after[0].id);
  const [row] = await app.prisma.session.findMany({ where: { userId: id } });
  expect(row?.expiresAt.getTime()).toBeGreaterThan(tomorrow.getTime());
  expect(row?.absoluteExpiresAt.getTime()).toBeGreaterThan(tomorrow.getTime());
});

it('lets the rest of its operation go on in the new session', async () => {
  const { cookie } = await visitor(app);
  const result = await gqlAs(
    app,
    cookie,
    `mutation ($current: String!, $next: String!) { ${FIELD}
      createApiKey(name: "after", scopes: ["posts:read"], currentPassword: $current) { apiKey { name } }
      createPost(title: "after", body: "b") { author { sessions { current } } } }`,
    { variables: CHANGED },
  );
  expect(dataOf(result)).toEqual({
    changePassword: true,
    createApiKey: { apiKey: { name: 'after' } },
    createPost: { author: { sessions: [{ current: true }] } },
  });
  expect(await statusWith(cookieOf(result))).toBe(200);
});

it('sets the cookie in a response to a page of CORS_ORIGINS, and in one that is an event stream', async () => {
  const headersOf = async (headers: Record<string, string>) => {
    const { cookie } = await visitor(app);
    const response = await app.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie, ...headers },
      body: JSON.stringify({ query: CHANGE, variables: CHANGED }),
    });
    expect(await response.text()).toContain('{"data":{"changePassword":true}}');
    expect(await statusWith(cookieOf(response))).toBe(200);
    return response.headers;
  };
  const toPage = await headersOf({ origin: PAGE });
  expect(toPage.get('access-control-allow-origin')).toBe(PAGE);
  expect(toPage.get('access-control-allow-credentials')).toBe('true');
  const stream = await headersOf({ accept: 'text/event-stream' });
  expect(stream.get('content-type')).toContain('text/event-stream');
});

it.each([
  ['a later field that fails', 'last: createPost(title: "", body: $large) { id }', 'BAD_USER_INPUT', 200],
  [
    'an answer that is too large',
    'last: createPost(title: "t", body: $large) { body again: body }',
    'COMPLEXITY_LIMIT',
    400,
  ],
])('is undone by %s, which sets no cookie', async (_name, field, code, status) => {
  const { email, cookie } = await visitor(app);
  const other = await freshCookie(app, email);
  const query = `mutation ($current: String!, $next: String!, $large: String!) { ${FIELD} ${field} }`;
  const variables = { ...CHANGED, large: 'x'.repeat(15_000) };
  for (const headers of [{}, { 'idempotency-key': 'k' }]) {
    const result = await gqlAs(app, cookie, query, { variables, headers });
    expectRejected(result, { code, status });
    expect(result.headers.getSetCookie()).toEqual([]);
  }
  for (const session of [cookie, other]) expect(await statusWith(session)).toBe(200);
  expect((await login(app, { email, password: PASSWORD })).status).toBe(200);
});

it('with an Idempotency-Key sets the cookie once: a retry with the old one is 401, a replay sets none', async () => {
  const { id, email, cookie } = await visitor(app);
  const keyed = { query: CHANGE, variables: CHANGED, idempotencyKey: 'k' };
  const first = await send(app, { ...keyed, cookie });
  expect(first).toMatchObject({ status: 200, replayed: null });
  expect(await storedFor(app, id)).toBe(1);
  const retry = await send(app, { ...keyed, cookie });
  expect(retry).toMatchObject({ status: 401, codes: ['UNAUTHENTICATED'], replayed: null });
  const signedIn = cookieOf(await login(app, { email, password: NEW_PASSWORD }));
  for (const session of [cookieOf(first), signedIn]) {
    const replay = await send(app, { ...keyed, cookie: session });
    expect(replay).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
    expect(replay.headers.getSetCookie()).toEqual([]);
    expect(await statusWith(session)).toBe(200);
  }
});

it('of two at once with one Idempotency-Key, the one that waits gets the response without the cookie', async () => {
  const { cookie } = await visitor(app);
  const request = { query: CHANGE, variables: CHANGED, idempotencyKey: 'k', cookie };
  const responses = await Promise.all([send(app, request), send(app, request)]);
  const cookies = responses.map((result) => cookieOf(result)).filter((set) => /=./.test(set));
  expect(cookies).toHaveLength(1);
  expect(await statusWith(cookies[0] ?? '')).toBe(200);
});

it('sets no cookie if nobody knows whether it is committed: one signs in with the password that counts', async () => {
  const { email, cookie } = await visitor(app);
  const database: Database = {
    ...app.database,
    unitOfWork(...options) {
      const work = app.database.unitOfWork(...options);
      const commit = work.commit.bind(work);
      work.commit = async () => {
        await commit();
        throw new DatabaseError('unknown', new Error('the connection was lost'));
      };
      return work;
    },
  };
  const result = await send(secondInstance(app, { database }), { query: CHANGE, variables: CHANGED, cookie });
  expect(result).toMatchObject({ status: 503, codes: ['SERVICE_UNAVAILABLE'] });
  expect(result.headers.getSetCookie()).toEqual([]);
  expect(await statusWith(cookie)).toBe(401);
  expect((await login(app, { email, password: NEW_PASSWORD })).status).toBe(200);
});

it.each(['eleven char', 'x'.repeat(201), 'with a \0 in the middle'])(
  'rejects %j as a new password',
  async (next) => {
    const { cookie } = await visitor(app);
    expectBadInput(
      await gqlAs(app, cookie, CHANGE, { variables: { current: PASSWORD, next } }),
      'newPassword',
    );
  },
);

it('and logins with the old password at the same time leave one session', async () => {
  // With a hash as new ones are made: a log-in would replace an old one.
  const { id, email } = await person(app);
  const cookie = await freshCookie(app, email);
  const [changed, ...logins] = await Promise.all([
    change(cookie),
    ...Array.from({ length: 6 }, () => login(app, { email, password: PASSWORD })),
  ]);
  dataOf(changed);
  for (const { status } of logins) expect([200, 401]).toContain(status);
  expect(await app.prisma.session.count({ where: { userId: id } })).toBe(1);
  expect(await statusWith(cookieOf(changed))).toBe(200);
});
