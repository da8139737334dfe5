import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { CREATE_ALONE, CREATE_POST, postsNamed, send, storedFor } from '../../support/keyed.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const MALFORMED = [
  ['nothing', ''],
  ['an empty string', '""'],
  ['256 characters', 'x'.repeat(256)],
  ['256 quoted characters', `"${'x'.repeat(256)}"`],
  ['no closing quote', '"abc'],
  ['something after the quote', '"abc"d'],
  ['an escape of nothing', '"a\\b"'],
  ['a tab', 'a\tb'],
  ['a character past ASCII', 'schl\u00fcssel'],
  ['a bare comma', 'a,b'],
  ['two lines that were joined', 'a, a'],
  ['two quoted lines that were joined', '"a", "a"'],
] as const;

describe('Idempotency-Key', () => {
  const app = useApp({ settings: { ANONYMOUS_READ: 'true' } });

  it.each(MALFORMED)('with %s is 400 on a mutation, which does not run', async (_what, idempotencyKey) => {
    const { key, id } = await app.account();
    const request = { query: CREATE_POST, variables: { title: `malformed ${id}` }, key, idempotencyKey };
    const rejected = await send(app, request);
    expect(rejected).toMatchObject({ status: 400, codes: ['BAD_REQUEST'], replayed: null });
    expect(await postsNamed(app, `malformed ${id}`)).toBe(0);
    expect(await storedFor(app, id)).toBe(0);
  });

  it('that is malformed is not looked at without an account', async () => {
    const query = 'mutation { createPost(title: "t", body: "b") { id } }';
    expect(await send(app, { query, idempotencyKey: '""' })).toMatchObject({ status: 401 });
  });

  it.each([...MALFORMED, ['a good one', 'good'] as const])(
    'with %s is ignored on a query',
    async (_what, idempotencyKey) => {
      const { key, id } = await app.account();
      const ask = (query: string) => send(app, { query, key, idempotencyKey });
      expect(await ask('{ viewer { id } }')).toMatchObject({ status: 200, replayed: null });
      expect(await ask('{ viewer { name } }')).toMatchObject({ status: 200, replayed: null });
      expect(await storedFor(app, id)).toBe(0);
    },
  );

  it.each([['malformed', '""'] as const, ['good', 'good'] as const])(
    'that is %s is ignored on a subscription',
    async (_what, idempotencyKey) => {
      const { key, id } = await app.account();
      const fetch: typeof app.fetch = (path, init) =>
        app.fetch(path, { ...init, headers: { ...init?.headers, 'idempotency-key': idempotencyKey } });
      const stream = await subscribe({ fetch }, { key });
      await send(app, { query: CREATE_POST, variables: { title: `event ${id}` }, key });
      expect((await stream.until(`event ${id}`)).at(-1)?.errors).toBeUndefined();
      expect(await storedFor(app, id)).toBe(0);
    },
  );

  const TWO = 'mutation A { a: __typename } mutation B { b: __typename }';
  const VARIABLES =
    'mutation ($a: String!, $b: [String!]) { createPost(title: $a, body: "b", tags: $b) { id } }';

  const DEFAULTS =
    'mutation ($title: String! = "x", $tags: [String!] = ["y"]) { createPost(title: $title, body: "b", tags: $tags) { id } }';

  it.each([
    ['another operation', { query: CREATE_POST }, { query: 'mutation { __typename }' }],
    ['another field', { query: 'mutation { a: __typename }' }, { query: 'mutation { b: __typename }' }],
    [
      'other literals',
      { query: 'mutation { createPost(title: "a", body: "b") { id } }' },
      { query: 'mutation { createPost(title: "A", body: "b") { id } }' },
    ],
    ['other variables', {}, { variables: { title: 'another' } }],
    [
      'other variables of one statement',
      { query: CREATE_ALONE },
      { query: CREATE_ALONE, variables: { title: 'another' } },
    ],
    [
      'null for an absent variable',
      { query: VARIABLES, variables: { a: 't' } },
      { query: VARIABLES, variables: { a: 't', b: null } },
    ],
    [
      'another order in a list',
      { query: VARIABLES, variables: { a: 't', b: ['x', 'y'] } },
      { query: VARIABLES, variables: { a: 't', b: ['y', 'x'] } },
    ],
    ['another operationName', { query: TWO, operationName: 'A' }, { query: TWO, operationName: 'B' }],
    ['variables that do not fit', {}, { variables: { title: 7 } }],
  ])('used again with %s is 422, and the first response stays', async (_what, one, other) => {
    const { key, id } = await app.account();
    const base = { query: CREATE_POST, variables: { title: 'one' }, key, idempotencyKey: 'k' };
    const first = await send(app, { ...base, ...one });
    expect(first.status).toBe(200);
    for (let turn = 0; turn < 2; turn += 1) {
      const rejected = await send(app, { ...base, ...other });
      expect(rejected).toMatchObject({ status: 422, codes: ['IDEMPOTENCY_KEY_REUSED'], replayed: null });
    }
    expect(await send(app, { ...base, ...one })).toMatchObject({ text: first.text, replayed: 'true' });
    expect(await storedFor(app, id)).toBe(1);
  });

  it.each([
    [
      'white space, commas and comments',
      { query: 'mutation($a:String!){createPost(title:$a,body:"b"){id,title}}', variables: { a: 'x' } },
      {
        query:
          '# again\nmutation ($a: String!)\n{\n  createPost(title: $a body: "b") { id title } # done\n}\n',
        variables: { a: 'x' },
      },
    ],
    [
      'the order of variables',
      { query: VARIABLES, variables: { a: 'x', b: ['y'] } },
      { query: VARIABLES, variables: { b: ['y'], a: 'x' } },
    ],
    [
      'an operationName that says what is the only one anyway',
      { query: 'mutation Only { createPost(title: "x", body: "b") { id } }' },
      { query: 'mutation Only { createPost(title: "x", body: "b") { id } }', operationName: 'Only' },
    ],
    [
      'variables that it does not declare',
      { query: VARIABLES, variables: { a: 'x' } },
      { query: VARIABLES, variables: { a: 'x', more: [[{}]], b2: null } },
    ],
    [
      'defaults that are spelt out',
      { query: DEFAULTS, variables: {} },
      { query: DEFAULTS, variables: { title: 'x', tags: 'y' } },
    ],
    [
      'variables that are null or absent',
      { query: 'mutation { createPost(title: "x", body: "b") { id } }', variables: null },
      { query: 'mutation { createPost(title: "x", body: "b") { id } }' },
    ],
  ])('used again is the same mutation whatever %s', async (_what, one, other) => {
    const { key, id } = await app.account();
    const first = await send(app, { ...one, key, idempotencyKey: 'k' });
    expect(first.status).toBe(200);
    const second = await send(app, { ...other, key, idempotencyKey: 'k' });
    expect(second).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
    expect(await app.prisma.post.count({ where: { authorId: id } })).toBe(1);
  });
});
