import { beforeAll, describe, expect, it } from 'vitest';
import { type TestApp, useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { published } from '../../support/trusted-documents.ts';

const LIST = '{ posts(limit: 20) { id title author { name } } }';
const PUBLIC = 'public, max-age=0, s-maxage=30, stale-while-revalidate=30';
const PRIVATE = 'private, no-cache';
const PAGE = 'https://app.example.com';
const LIMITS = /^(?:x-ratelimit|ratelimit|retry-after)/;

type Fields = Record<string, string>;
type Service = Pick<TestApp, 'fetch' | 'database' | 'config'>;

const open = useApp({
  settings: { ANONYMOUS_READ: 'true', PUBLIC_CACHE_SECONDS: '30', CORS_ORIGINS: PAGE },
});
const byDefault = useApp({ settings: { ANONYMOUS_READ: 'true' } });
const withPlugin = useApp({
  settings: { ANONYMOUS_READ: 'true', PUBLIC_CACHE_SECONDS: '30' },
  yogaPlugins: [{ onResponse: ({ response }) => response.headers.append('set-cookie', 'visit=1') }],
});
const closed = useApp({ settings: { PUBLIC_CACHE_SECONDS: '30', INTROSPECTION: 'true' } });

const address = (parameters: Fields) => `/graphql?${new URLSearchParams(parameters)}`;
const ask = ({ fetch }: Service, parameters: Fields, headers: Fields = {}) =>
  fetch(address(parameters), { headers });
const cacheControl = (response: Response) => response.headers.get('cache-control');

let key = '';
let userId = '';
let cookie = '';
beforeAll(async () => {
  ({ id: userId, key } = await open.account());
  ({ cookie } = await visitor(open));
  await open.gql('mutation { createPost(title: "One", body: "b") { id } }', { key });
});

describe('by key in a header', () => {
  it.each<[string, Fields]>([
    ['JSON', {}],
    ['the response type', { accept: 'application/graphql-response+json' }],
    ['compressed', { 'accept-encoding': 'br' }],
    ['asked again', { 'if-none-match': '*' }],
  ])('a response is the caller’s own to keep, and to be asked for again: %s', async (_what, headers) => {
    const byText = await ask(open, { query: LIST }, { authorization: `Bearer ${key}`, ...headers });
    expect(cacheControl(byText)).toBe(PRIVATE);
    const documentId = await published(open, LIST);
    const byId = await ask(open, { documentId }, { authorization: `Bearer ${key}`, ...headers });
    expect(cacheControl(byId)).toBe(PRIVATE);
    expect(byId.headers.has('x-ratelimit-limit')).toBe(true);
  });
});

describe('by session', () => {
  it('a response is not stored, but for a page that keeps it and asks whether it is still so', async () => {
    const documentId = await published(open, LIST);
    for (const parameters of [{ query: LIST }, { documentId }] as Fields[]) {
      const first = await ask(open, parameters, { cookie });
      expect([first.status, cacheControl(first)]).toEqual([200, 'no-store']);
      const etag = first.headers.get('etag') ?? '';
      const again = await ask(open, parameters, { cookie, 'if-none-match': etag });
      expect([again.status, cacheControl(again)]).toEqual([304, PRIVATE]);
      const changed = await ask(open, parameters, { cookie, 'if-none-match': '"other"' });
      expect([changed.status, cacheControl(changed)]).toEqual([200, PRIVATE]);
    }
  });

  it('whoever logs out has the browser clear its cache', async () => {
    const { cookie: other } = await visitor(open);
    const headers = { cookie: other, origin: PAGE };
    const response = await open.fetch('/logout', { method: 'POST', headers });
    expect([response.status, response.headers.get('clear-site-data')]).toEqual([204, '"cache"']);
    expect(cacheControl(response)).toBe('no-store');
    const rejected = await open.fetch('/logout', {
      method: 'POST',
      headers: { cookie, origin: 'https://elsewhere.example.com' },
    });
    expect([rejected.status, rejected.headers.get('clear-site-data')]).toEqual([403, null]);
  });
});

describe('without credentials', () => {
  it('a response by the id of a document is for everybody, and says nothing of the request', async () => {
    const documentId = await published(open, LIST);
    const headers = { 'x-request-id': 'mine' };
    const response = await ask(open, { documentId }, headers);
    expect([response.status, cacheControl(response)]).toEqual([200, PUBLIC]);
    expect([...response.headers.keys()].filter((name) => LIMITS.test(name))).toEqual([]);
    const id = response.headers.get('x-request-id') ?? '';
    expect(id).toMatch(/^[\da-f-]{36}$/);
    const line = open.logged.find((it) => it.includes(`"${id}"`) && it.includes('"status"'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ status: 200, documentId });
    const etag = response.headers.get('etag') ?? '';
    const again = await ask(open, { documentId }, { ...headers, 'if-none-match': etag });
    expect([again.status, cacheControl(again)]).toEqual([304, PUBLIC]);
    expect([...again.headers.keys()].filter((name) => LIMITS.test(name))).toEqual([]);
    expect(again.headers.get('x-request-id')).not.toBe('mine');
  });

  it('it is so over HEAD, by the extension of Apollo and urql, and beside a cookie that is no session', async () => {
    const documentId = await published(open, LIST);
    const extensions = JSON.stringify({ persistedQuery: { version: 1, sha256Hash: documentId } });
    const responses = [
      await open.fetch(address({ documentId }), { method: 'HEAD' }),
      await ask(open, { extensions }),
      await ask(open, { documentId }, { cookie: 'theme=dark' }),
    ];
    expect(responses.map((it) => [it.status, cacheControl(it)])).toEqual(responses.map(() => [200, PUBLIC]));
  });

  it('takes a token all the same', async () => {
    const documentId = await published(open, LIST);
    const anonymous = async () => Number((await ask(open, { query: LIST })).headers.get('x-ratelimit-reset'));
    expect(await anonymous()).toBeGreaterThan(0);
    expect((await ask(open, { documentId })).headers.has('x-ratelimit-reset')).toBe(false);
  });
});

describe('no cache keeps', () => {
  const documentOf = (service: TestApp, text = LIST) => published(service, text);

  it.each<[string, () => Promise<Response>]>([
    ['an answer by text', () => ask(open, { query: LIST })],
    [
      'a text beside the extension',
      async () =>
        ask(open, {
          query: LIST,
          extensions: JSON.stringify({ persistedQuery: { version: 1, sha256Hash: await documentOf(open) } }),
        }),
    ],
    ['a key in the address', async () => ask(open, { documentId: await documentOf(open), api_key: key })],
    ['a cost', async () => ask(open, { documentId: await documentOf(open) }, { 'x-show-cost': '1' })],
    [
      'what could have been a cost',
      async () => ask(open, { documentId: await documentOf(open) }, { 'x-show-cost': '0' }),
    ],
    [
      'an event id',
      async () => ask(open, { documentId: await documentOf(open) }, { 'x-show-event-id': '1' }),
    ],
    [
      'anything else that is shown',
      async () => ask(open, { documentId: await documentOf(open) }, { 'x-show-deprecations': '1' }),
    ],
    [
      'a cost by key',
      () => ask(open, { query: LIST }, { authorization: `Bearer ${key}`, 'x-show-cost': '1' }),
    ],
    [
      'an event stream',
      async () => ask(open, { documentId: await documentOf(open) }, { accept: 'text/event-stream' }),
    ],
    [
      'an answer over POST',
      async () =>
        open.fetch('/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ documentId: await documentOf(open) }),
        }),
    ],
    [
      'a cookie that a plugin of Yoga sets',
      async () => ask(withPlugin, { documentId: await documentOf(withPlugin) }),
    ],
    [
      'what the service was not told to have kept',
      async () => ask(byDefault, { documentId: await documentOf(byDefault) }),
    ],
    [
      'the schema, where nothing else may be read',
      async () => ask(closed, { documentId: await documentOf(closed, '{ __typename }') }),
    ],
  ])('%s', async (_what, asking) => {
    const response = await asking();
    expect(response.status).toBe(200);
    expect(cacheControl(response)).toMatch(/^no-store(?:, no-transform)?$/);
  });

  it.each<[string, number, () => Promise<Response>]>([
    [
      'what needs credentials',
      401,
      async () => ask(open, { documentId: await documentOf(open, '{ viewer { id } }') }),
    ],
    [
      'an error beside data',
      200,
      async () =>
        ask(open, {
          documentId: await documentOf(open, `{ node(id: "${userId}") { id } posts(limit: 1) { id } }`),
        }),
    ],
    [
      'variables that do not fit',
      200,
      async () =>
        ask(open, { documentId: await documentOf(open, 'query ($n: Int!) { posts(limit: $n) { id } }') }),
    ],
    ['an id that is not known', 404, () => ask(open, { documentId: 'nothing' })],
    [
      'a bad key',
      401,
      async () => ask(open, { documentId: await documentOf(open) }, { authorization: 'Bearer nonsense' }),
    ],
    [
      'an ended session',
      401,
      async () =>
        ask(open, { documentId: await documentOf(open) }, { cookie: `session_id=${'x'.repeat(43)}` }),
    ],
    [
      'a refusal of what must not be read',
      401,
      async () => ask(closed, { documentId: await documentOf(closed) }),
    ],
  ])('%s', async (_what, status, asking) => {
    const response = await asking();
    expect([response.status, cacheControl(response)]).toEqual([status, 'no-store']);
    expect(response.headers.has('etag')).toBe(false);
  });
});
