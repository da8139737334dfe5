import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import type { Scope } from '../../../src/auth/scopes.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { freshCookie, PASSWORD, visitor } from '../../support/credentials/session.ts';
import {
  type KeyedRequest,
  postsNamed,
  type RawResponse,
  send,
  sendUntilResponse,
  storedFor,
} from '../../support/keyed.ts';

const NEW_KEY = `createApiKey(name: "n", scopes: ["posts:read"], currentPassword: "${PASSWORD}")`;
const SECRET = /cga_\w+/;

/** Ways to ask for a secret, and the variables that go with them. */
const SECRETS: readonly [string, string, Record<string, unknown>?][] = [
  ['plainly', `mutation { ${NEW_KEY} { key } }`],
  ['under another name', `mutation { made: ${NEW_KEY} { shown: key apiKey { id } } }`],
  ['in an inline fragment', `mutation { ${NEW_KEY} { ... on CreatedApiKey { key } } }`],
  [
    'in a fragment',
    `mutation { ...Made } fragment Made on Mutation { ${NEW_KEY} { ...Key } } fragment Key on CreatedApiKey { key }`,
  ],
  [
    'included by a variable',
    `mutation ($yes: Boolean!) { ${NEW_KEY} { apiKey { id } key @include(if: $yes) } }`,
    { yes: true },
  ],
  [
    'not skipped by a variable',
    `mutation ($no: Boolean = true) { ${NEW_KEY} { key @skip(if: $no) apiKey { id } } }`,
    { no: false },
  ],
  ['after another field', `mutation { revokeApiKey(id: "x") ${NEW_KEY} { key } }`],
  ['before another field', `mutation { ${NEW_KEY} { key } createPost(title: "t", body: "b") { id } }`],
  [
    'in one of two operations',
    `mutation Other { revokeApiKey(id: "x") } mutation Wanted { ${NEW_KEY} { key } }`,
  ],
  ['twice', `mutation { ${NEW_KEY} { a: key b: key } }`],
];

describe('A stored response', () => {
  const app = useApp();

  const keyOf = async (userId: string, scopes: readonly Scope[]) =>
    (await createApiKey(app.database, { userId, name: 'lesser', scopes })).key;

  function expectForbidden(response: RawResponse): void {
    expect(response).toMatchObject({ status: 403, codes: ['FORBIDDEN'], replayed: null });
    expect(JSON.parse(response.text).data ?? null).toBeNull();
    expect(response.text).not.toMatch(SECRET);
  }
  const replayOf = (first: RawResponse) => ({ status: first.status, text: first.text, replayed: 'true' });

  it.each(SECRETS)(
    'with a secret asked for %s is given to the session that made it alone',
    async (_how, query, variables = {}) => {
      const person = await visitor(app);
      const request: KeyedRequest = {
        query,
        variables,
        idempotencyKey: 'k',
        ...(query.includes('Wanted') ? { operationName: 'Wanted' } : {}),
      };
      const first = await send(app, { ...request, cookie: person.cookie });
      expect(first).toMatchObject({ status: 200, replayed: null });
      expect(first.text).toMatch(SECRET);
      const others = [
        { key: await keyOf(person.id, ['posts:read']) },
        { key: person.key },
        { cookie: await freshCookie(app, person.email) },
      ];
      for (const credentials of others) expectForbidden(await send(app, { ...request, ...credentials }));
      expect(await send(app, { ...request, cookie: person.cookie })).toMatchObject(replayOf(first));
      expect(await storedFor(app, person.id)).toBe(1);
    },
  );

  it.each([
    ['the secret is not asked for', `mutation { ${NEW_KEY} { apiKey { name } } }`],
    ['the secret is left out', `mutation { ${NEW_KEY} { apiKey { name } key @skip(if: true) } }`],
    ['nothing was made', `mutation { ${NEW_KEY.replace('"n"', '""')} { key } }`],
    ['the password was wrong', `mutation { ${NEW_KEY.replace(PASSWORD, 'wrong')} { key } }`],
    ['it says what has ended', 'mutation { revokeSession(id: "x") }'],
  ])('of an operation for sessions is given to any session where %s, and to no key', async (_when, query) => {
    const person = await visitor(app);
    const request = { query, idempotencyKey: 'k' };
    const first = await send(app, { ...request, cookie: person.cookie });
    expect(first).toMatchObject({ status: 200, replayed: null });
    expectForbidden(await send(app, { ...request, key: person.key }));
    const cookie = await freshCookie(app, person.email);
    expect(await send(app, { ...request, cookie })).toMatchObject(replayOf(first));
  });

  it.each<[string, string, readonly Scope[], Record<string, unknown>?]>([
    [
      'of its field',
      'mutation { createPost(title: "t", body: "b") { id } }',
      ['posts:read', 'comments:write'],
    ],
    [
      'of a field in a fragment',
      'mutation { ...F } fragment F on Mutation { createPost(title: "t", body: "b") { id } }',
      ['posts:read'],
    ],
    [
      'of its selection',
      'mutation { createPost(title: "t", body: "b") { author { posts { id } } } }',
      ['posts:write'],
    ],
    [
      'of a selection in a fragment',
      'mutation { createPost(title: "t", body: "b") { ...P } } fragment P on Post { comments { id } }',
      ['posts:write'],
    ],
    [
      'of a connection',
      'mutation { createPost(title: "t", body: "b") { author { postsConnection { nodes { id } } } } }',
      ['posts:write'],
    ],
    [
      'of a selection that is included',
      'mutation ($yes: Boolean!) { createPost(title: "t", body: "b") { id comments @include(if: $yes) { id } } }',
      ['posts:write'],
      { yes: true },
    ],
    [
      'of a selection that is not skipped',
      'mutation ($constructor: Boolean!) { createPost(title: "t", body: "b") { id comments @skip(if: $constructor) { id } } }',
      ['posts:write'],
      { constructor: false },
    ],
    [
      'of a second field',
      'mutation { createPost(title: "t", body: "b") { id } deleteComment(id: "x") }',
      ['posts:read', 'posts:write'],
    ],
    [
      'of a field behind one that failed',
      'mutation { createPost(title: "", body: "b") { id } deleteComment(id: "x") }',
      ['posts:read', 'posts:write'],
    ],
    [
      'of the selection of a field that failed',
      'mutation { updatePost(id: "x", title: "t") { comments { id } } }',
      ['posts:write'],
    ],
  ])(
    'is rejected to a key without the scope %s, and stays',
    async (_whose, query, scopes, variables = {}) => {
      const { id, key } = await app.account();
      const request = { query, variables, idempotencyKey: 'k' };
      const first = await send(app, { ...request, key });
      expect(first).toMatchObject({ status: 200, replayed: null });
      expectForbidden(await send(app, { ...request, key: await keyOf(id, scopes) }));
      expect(await send(app, { ...request, key })).toMatchObject(replayOf(first));
      expect(await storedFor(app, id)).toBe(1);
    },
  );

  it('is given where the scope is only needed for what the variables leave out', async () => {
    const { id, key } = await app.account();
    const query =
      'mutation ($no: Boolean = false) { createPost(title: "t", body: "b") { id comments @include(if: $no) { id } ... @include(if: $no) { author { posts { id } } } } }';
    const request = { query, idempotencyKey: 'k' };
    const first = await send(app, { ...request, key });
    const lesser = await keyOf(id, ['posts:write']);
    expect(await send(app, { ...request, key: lesser })).toMatchObject(replayOf(first));
  });

  it('with an e-mail is given to who may read that e-mail: one’s own with users:read, others’ with users:email', async () => {
    const admin = await app.account({ role: 'admin' });
    const theirs = await createPost(app, (await app.account()).key);
    const lesser = await keyOf(admin.id, ['posts:read', 'posts:write', 'comments:write', 'users:read']);
    const own = {
      query: 'mutation { createPost(title: "t", body: "b") { author { email } } }',
      idempotencyKey: 'own',
    };
    const ofOwn = await send(app, { ...own, key: admin.key });
    expect(ofOwn.text).toContain(admin.email);
    expect(await send(app, { ...own, key: lesser })).toMatchObject(replayOf(ofOwn));
    const least = await keyOf(admin.id, ['posts:read', 'posts:write', 'comments:write', 'users:email']);
    expectForbidden(await send(app, { ...own, key: least }));
    const other = {
      query: `mutation { createComment(postId: "${theirs}", body: "b") { post { author { email } } } }`,
      idempotencyKey: 'other',
    };
    const ofOther = await send(app, { ...other, key: admin.key });
    expect(ofOther.status).toBe(200);
    expectForbidden(await send(app, { ...other, key: lesser }));
    expect(await send(app, { ...other, key: least })).toMatchObject(replayOf(ofOther));
    expect(await send(app, { ...other, key: admin.key })).toMatchObject(replayOf(ofOther));
    // Rejected the first time, nothing is done, and the key is left to those who may.
    const rejected = { ...other, idempotencyKey: 'refused' };
    expectForbidden(await send(app, { ...rejected, key: lesser }));
    const done = await send(app, { ...rejected, key: admin.key });
    expect(done).toMatchObject({ status: 200, replayed: null });
    expectForbidden(await send(app, { ...rejected, key: lesser }));
    expect(await send(app, { ...rejected, key: admin.key })).toMatchObject(replayOf(done));
  });

  it('is not made by a rejection for lack of a scope, which uses nothing up for those who have it', async () => {
    const { id, key } = await app.account();
    const lesser = await keyOf(id, ['posts:read']);
    const title = `refused ${id}`;
    const request = {
      query: `mutation { createPost(title: "${title}", body: "b") { id } }`,
      idempotencyKey: 'k',
    };
    for (let turn = 0; turn < 2; turn += 1) expectForbidden(await send(app, { ...request, key: lesser }));
    expect(await storedFor(app, id)).toBe(0);
    const first = await send(app, { ...request, key });
    expect(first).toMatchObject({ status: 200, replayed: null });
    expectForbidden(await send(app, { ...request, key: lesser }));
    expect(await send(app, { ...request, key })).toMatchObject(replayOf(first));
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('tells nothing to who may not run its mutation: neither a right nor a wrong guess at its variables', async () => {
    const person = await visitor(app);
    const query = 'mutation ($new: String!) { changePassword(currentPassword: "wrong", newPassword: $new) }';
    const request = { query, idempotencyKey: 'change-1', cookie: person.cookie };
    const first = await send(app, { ...request, variables: { new: 'a long new password' } });
    expect(first).toMatchObject({ status: 200, codes: ['BAD_USER_INPUT'], replayed: null });
    const guesses = ['a long new password', 'another long password'].map((guess) =>
      send(app, { query, idempotencyKey: 'change-1', key: person.key, variables: { new: guess } }),
    );
    const [right, wrong] = await Promise.all(guesses);
    expect(right).toMatchObject({ status: 403, codes: ['FORBIDDEN'], replayed: null });
    expect(wrong?.text).toBe(right?.text);
  });

  it('tells nothing by variables that do not fit, either: who may run it learns of the key, others of the variables', async () => {
    const { id, key } = await app.account();
    const query = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
    const request = { query, idempotencyKey: 'k', key: await keyOf(id, ['posts:read']) };
    const before = await send(app, request);
    expect(before).toMatchObject({ codes: ['BAD_USER_INPUT'], replayed: null });
    await send(app, { ...request, key, variables: { title: 't' } });
    expect((await send(app, request)).text).toBe(before.text);
    expect((await send(app, { ...request, key })).codes).toEqual(['IDEMPOTENCY_KEY_REUSED']);
  });

  it('is not given past a check to those either who waited for it', async () => {
    const person = await visitor(app);
    const request = { query: `mutation { ${NEW_KEY} { key } }`, idempotencyKey: 'k' };
    const [first, ...others] = await Promise.all([
      sendUntilResponse(app, { ...request, cookie: person.cookie }),
      ...Array.from({ length: 5 }, () => sendUntilResponse(app, { ...request, key: person.key })),
    ]);
    // Whoever is first: the key may be, and is rejected as well.
    expect([200, 403]).toContain(first.status);
    for (const response of others) {
      expect(response).toMatchObject({ status: 403 });
      expect(response.text).not.toMatch(SECRET);
    }
  });

  it('of an earlier version is given as long as it can hold no secret and no e-mail that the caller may not see', async () => {
    const person = await visitor(app, { role: 'admin' });
    const forget = () =>
      app.prisma.$executeRawUnsafe('UPDATE idempotency_keys SET session_id = NULL, scopes = NULL');
    const { cookie, key } = person;
    const plain = {
      query: 'mutation { createPost(title: "t", body: "b") { id } }',
      idempotencyKey: 'plain',
      key,
    };
    const email = {
      query: 'mutation { createPost(title: "t", body: "b") { author { email } } }',
      idempotencyKey: 'email',
      key,
    };
    const secret = { query: `mutation { ${NEW_KEY} { key } }`, idempotencyKey: 'secret', cookie };
    const [ofPlain, ofEmail] = [await send(app, plain), await send(app, email)];
    expect((await send(app, secret)).status).toBe(200);
    await forget();
    expect(await send(app, plain)).toMatchObject(replayOf(ofPlain));
    expect(await send(app, email)).toMatchObject(replayOf(ofEmail));
    const lesser = await keyOf(person.id, ['posts:write']);
    expectForbidden(await send(app, { ...email, key: lesser }));
    expectForbidden(await send(app, secret));
  });
});
