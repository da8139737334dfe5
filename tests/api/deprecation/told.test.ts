import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { deprecatingSchema, REASONS } from '../../support/schema/deprecating-schema.ts';

const app = useApp({ schema: deprecatingSchema(), settings: { CORS_ORIGINS: 'https://app.example.com' } });

/** What a client is told of its operation. */
async function told(query: string, variables?: object, headers: Record<string, string> = {}) {
  const { key } = await app.account();
  const response = await app.fetch(
    '/graphql',
    graphqlPost(query, { key, headers, variables: { ...variables } }),
  );
  const { extensions, errors } = await response.json();
  const header = (name: string) => response.headers.get(name);
  return {
    deprecation: header('deprecation'),
    sunset: header('sunset'),
    extensions,
    errors,
    status: response.status,
    header,
  };
}

const BODY = { element: 'Post.body', reason: REASONS.body, since: '2026-10-01', until: '2027-06-01' };
const OLD = { element: 'Order.OLD', reason: REASONS.old, since: '2026-10-05', until: '2027-03-01' };
const TAG = { element: 'Query.posts(tag:)', reason: REASONS.tag, since: '2026-09-15', until: null };
const LABEL = { element: 'Choice.label', reason: REASONS.label, since: null, until: null };
const CHOSEN = 'query ($choice: Choice, $orders: [Order!]) { chosen(choice: $choice, orders: $orders) }';

describe('an operation that uses what is deprecated', () => {
  it.each<[string, string, object, readonly object[], string | null, string | null]>([
    ['a field', '{ posts { body } }', {}, [BODY], '@1790812800', 'Tue, 01 Jun 2027 00:00:00 GMT'],
    ['an argument', '{ posts(tag: "a") { id } }', {}, [TAG], '@1789430400', null],
    ['an input field in its text', '{ chosen(choice: { label: "a" }) }', {}, [LABEL], null, null],
    [
      'an enum value in its text',
      '{ chosen(orders: OLD) }',
      {},
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    [
      'an enum value in a list',
      '{ chosen(orders: [NEW, OLD]) }',
      {},
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    ['an input field in a variable', CHOSEN, { choice: { label: null } }, [LABEL], null, null],
    [
      'an enum value in a variable',
      CHOSEN,
      { orders: ['NEW', 'OLD'] },
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    [
      'one in a variable that is no list',
      CHOSEN,
      { orders: 'OLD' },
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    [
      'one deep in a variable',
      CHOSEN,
      { choice: { others: [{ tag: 'OLD' }, { others: [{ order: 'OLD' }] }] } },
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    [
      'a default of a variable',
      'query ($orders: [Order!] = [OLD]) { chosen(orders: $orders) }',
      {},
      [OLD],
      '@1791158400',
      'Mon, 01 Mar 2027 00:00:00 GMT',
    ],
    [
      'several',
      'query ($tag: String) { posts(tag: $tag) { ...F } } fragment F on Post { again: body }',
      {},
      [TAG, BODY],
      '@1789430400',
      'Tue, 01 Jun 2027 00:00:00 GMT',
    ],
  ])(
    'is told of %s: since when, until when, and what to use',
    async (_what, query, variables, elements, deprecation, sunset) => {
      const asked = await told(query, variables, { 'x-show-deprecations': '1' });
      expect(asked).toMatchObject({ status: 200, deprecation, sunset });
      expect(asked.extensions.deprecations).toHaveLength(elements.length);
      expect(asked.extensions.deprecations).toEqual(expect.arrayContaining([...elements]));
      const unasked = await told(query, variables);
      expect(unasked).toMatchObject({ status: 200, deprecation, sunset, extensions: undefined });
    },
  );

  it('is told beside its cost and its event id, also of a text that the database has written', async () => {
    const headers = { 'x-show-deprecations': '1', 'x-show-event-id': '1' };
    const { extensions } = await told('{ posts { body } }', {}, headers);
    expect(extensions).toEqual({ eventId: expect.any(String), deprecations: [BODY] });
    const { extensions: all } = await told('{ posts { body } }', {}, { ...headers, 'x-show-cost': '1' });
    expect(all).toEqual({ ...extensions, eventId: expect.any(String), cost: expect.any(Object) });
  });

  it('is told the same of a mutation when it is replayed', async () => {
    const { key } = await app.account();
    const send = (headers: Record<string, string>) =>
      app.fetch(
        '/graphql',
        graphqlPost('mutation { createPost(title: "t", body: "b") { id body } }', {
          key,
          headers: { 'idempotency-key': 'one', ...headers },
        }),
      );
    const first = await send({});
    const { data } = await first.json();
    const replay = await send({ 'x-show-deprecations': '1' });
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    expect(replay.headers.get('deprecation')).toBe(first.headers.get('deprecation'));
    expect(await replay.json()).toEqual({ data, extensions: { deprecations: [BODY] } });
    expect(await (await send({})).json()).toEqual({ data });
  });

  it('tells pages of other origins, which may ask', async () => {
    const { header } = await told('{ posts { body } }', {}, { origin: 'https://app.example.com' });
    expect(header('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining(['Deprecation', 'Sunset']),
    );
    const preflight = await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect(preflight.headers.get('access-control-allow-headers')?.split(', ')).toContain(
      'x-show-deprecations',
    );
  });

  it('tells who asks by GET in a way that caches keep apart', async () => {
    const { key } = await app.account();
    const get = (headers: Record<string, string>) =>
      app.fetch(`/graphql?query=${encodeURIComponent('{ posts { body } }')}`, {
        headers: { authorization: `Bearer ${key}`, ...headers },
      });
    const [plain, shown] = [await get({}), await get({ 'x-show-deprecations': '1' })];
    expect(plain.headers.get('vary')?.split(', ')).toContain('X-Show-Deprecations');
    expect(plain.headers.get('cache-control')).toBe('private, no-cache');
    expect(plain.headers.get('deprecation')).toBe('@1790812800');
    expect(shown.headers.get('cache-control')).toBe('no-store');
    const known = { 'if-none-match': plain.headers.get('etag') ?? '' };
    expect((await get(known)).status).toBe(304);
    expect((await get(known)).headers.get('deprecation')).toBe('@1790812800');
    expect((await get({ ...known, 'x-show-deprecations': '1' })).status).toBe(200);
  });
});

describe('an operation that uses nothing deprecated', () => {
  it.each([
    ['other fields', '{ posts { id } }', {}],
    ['other values', CHOSEN, { choice: { tag: 'OLD', others: [] }, orders: ['NEW'] }],
  ])('is told so, and has no header: %s', async (_what, query, variables) => {
    const asked = await told(query, variables, { 'x-show-deprecations': '1' });
    expect(asked).toMatchObject({ status: 200, deprecation: null, sunset: null });
    expect(asked.extensions).toEqual({ deprecations: [] });
    expect((await told(query, variables)).extensions).toBeUndefined();
  });
});

it('values that fit no type are rejected as ever', async () => {
  const { errors } = await told(CHOSEN, { choice: [[{ label: 1 }], 7, null], orders: { OLD: 'OLD' } });
  expect(errors[0].extensions.code).toBe('BAD_USER_INPUT');
});
