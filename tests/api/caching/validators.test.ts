import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { readEncoded } from '../../support/encoded.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';

const LIST = '{ posts(limit: 20) { id title body author { name } } }';
const RESPONSE_TYPE = 'application/graphql-response+json';
const STRONG = /^"[\w-]{27,60}"$/;

type Fields = Record<string, string>;

const app = useApp();
const fast = useSocket(app);
const throughYoga = useSocket(app, { fastPath: NO_FAST_PATH });
let key = '';
let authorization = '';

const address = (query: string) => `/graphql?${new URLSearchParams({ query })}`;
const write = (title: string) =>
  app.gql('mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id } }', {
    key,
    variables: { title, body: 'A text that repeats itself. '.repeat(30) },
  });
const etagOf = ({ headers }: Response) => headers.get('etag') ?? '';
const get = (headers: Fields = {}, query = LIST) =>
  app.fetch(address(query), { headers: { authorization, ...headers } });

beforeAll(async () => {
  ({ key } = await app.account());
  authorization = `Bearer ${key}`;
  for (const title of ['One', 'Two', 'Zoë']) await write(title);
});

describe.each([
  ['on the fast path', () => fast],
  ['through Yoga', () => throughYoga],
  ['without a socket', () => app],
])('a response to a query over GET, %s', (_way, way) => {
  const ask = (headers: Fields = {}, init: RequestInit = {}, query = LIST) =>
    way().fetch(address(query), { ...init, headers: { 'accept-encoding': '', authorization, ...headers } });

  it('has a strong validator, the same while nothing changes', async () => {
    const [one, other] = [await ask(), await ask()];
    expect(etagOf(one)).toMatch(STRONG);
    expect(etagOf(other)).toBe(etagOf(one));
    const viewer = await ask({}, {}, '{ viewer { id } }');
    expect(etagOf(viewer)).not.toBe(etagOf(one));
  });

  it.each<[string, (etag: string) => string]>([
    ['the validator', (etag) => etag],
    ['it made weak', (etag) => `W/${etag}`],
    ['a list with it', (etag) => `"other", W/"an,other",${etag}, "last"`],
    ['any', () => ' * '],
  ])('is 304 to a client that has it, as If-None-Match says: %s', async (_what, sent) => {
    const whole = await ask();
    const result = await ask({ 'if-none-match': sent(etagOf(whole)) });
    expect(result.status).toBe(304);
    expect(await result.text()).toBe('');
    // RFC 9110 section 15.4.5: what the 200 would have, and nothing that describes a body.
    for (const name of ['etag', 'cache-control', 'vary'])
      expect([name, result.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
    for (const name of ['content-type', 'content-length', 'content-encoding'])
      expect([name, result.headers.get(name)]).toEqual([name, null]);
    expect(result.headers.has('x-request-id')).toBe(true);
  });

  it.each([
    ['another', '"AAAAAAAAAAAAAAAAAAAAAAAAAAA"'],
    ['no quotes', 'AAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['the one of another coding', '-br"'],
    ['nothing', ''],
    ['quotes alone', '""""'],
  ])('is 200 to a client that sends %s', async (_what, sent) => {
    const etag = etagOf(await ask());
    const known = sent === '-br"' ? etag.replace(/"$/, sent) : sent;
    const result = await ask({ 'if-none-match': known });
    expect([result.status, etagOf(result)]).toEqual([200, etag]);
    expect((await result.json()).data.posts).toHaveLength(3);
  });

  it('has one for each coding and each media type', async () => {
    const codings = ['', 'gzip', 'br', 'zstd'].map((accepted) => ({ 'accept-encoding': accepted }));
    const responses: readonly Fields[] = codings.flatMap((it) => [it, { ...it, accept: RESPONSE_TYPE }]);
    const etags = await Promise.all(
      responses.map(async (headers) => {
        const response = await ask(headers);
        await response.arrayBuffer();
        return etagOf(response);
      }),
    );
    expect(new Set(etags).size).toBe(8);
    for (const etag of etags) expect(etag).toMatch(STRONG);
    for (const [at, headers] of responses.entries()) {
      const statuses = await Promise.all(
        etags.map(async (etag) => (await ask({ ...headers, 'if-none-match': etag })).status),
      );
      expect(statuses).toEqual(etags.map((_, other) => (other === at ? 304 : 200)));
    }
  });

  it('is told to HEAD just the same, without the body', async () => {
    for (const headers of [{}, { 'accept-encoding': 'br' }, { accept: RESPONSE_TYPE }] as Fields[]) {
      const whole = await ask(headers);
      await whole.arrayBuffer();
      const head = await ask(headers, { method: 'HEAD' });
      expect([head.status, await head.text()]).toEqual([200, '']);
      for (const name of ['etag', 'cache-control', 'vary', 'content-type', 'content-encoding'])
        expect([name, head.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
      const again = await ask({ ...headers, 'if-none-match': etagOf(whole) }, { method: 'HEAD' });
      expect(again.status).toBe(304);
    }
    const stream = address('subscription { postCreated { id } }');
    const opened = await way().fetch(stream, {
      method: 'HEAD',
      headers: { authorization, accept: 'text/event-stream' },
    });
    expect([opened.status, opened.headers.get('allow')]).toEqual([405, 'GET, POST']);
    const mutation = await way().fetch(address('mutation { createPost(title: "t", body: "b") { id } }'), {
      method: 'HEAD',
      headers: { authorization },
    });
    expect([mutation.status, mutation.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

it('A change makes a new validator, and the client gets the new answer', async () => {
  const etag = etagOf(await get());
  expect((await get({ 'if-none-match': etag })).status).toBe(304);
  await write('New');
  const result = await get({ 'if-none-match': etag });
  expect(result.status).toBe(200);
  expect((await result.json()).data.posts).toHaveLength(4);
  expect(etagOf(result)).not.toBe(etag);
});

it('A 304 is compressed by nobody, and the next 200 is', async () => {
  const accepted = { 'accept-encoding': 'gzip, deflate, br, zstd' };
  const whole = await readEncoded(await get(accepted));
  expect(whole.encoding).toBeDefined();
  const etag = whole.headers.get('etag') ?? '';
  const short = await readEncoded(await get({ ...accepted, 'if-none-match': etag }));
  expect([short.status, short.encoding, short.size]).toEqual([304, undefined, 0]);
});

it('A client that has the response of somebody else gets its own', async () => {
  const other = await app.account();
  const own = '{ viewer { id name email } }';
  const etag = etagOf(await get({}, own));
  const result = await get({ authorization: `Bearer ${other.key}`, 'if-none-match': etag }, own);
  expect(result.status).toBe(200);
  expect((await result.json()).data.viewer.id).toBe(other.id);
});

it.each<[string, () => Promise<Response>]>([
  [
    'a query over POST',
    () => app.fetch('/graphql', graphqlPost(LIST, { key, headers: { 'if-none-match': '*' } })),
  ],
  [
    'a mutation',
    () =>
      app.fetch(
        '/graphql',
        graphqlPost('mutation { createPost(title: "t", body: "b") { id } }', {
          key,
          headers: { 'if-none-match': '*' },
        }),
      ),
  ],
  ['errors alone', () => get({ 'if-none-match': '*' }, '{ nothing }')],
  ['errors beside data', () => get({ 'if-none-match': '*' }, '{ __typename viewer { sessions { id } } }')],
  ['a syntax error', () => get({ 'if-none-match': '*' }, '{')],
  ['no credentials', () => app.fetch(address(LIST), { headers: { 'if-none-match': '*' } })],
  ['an event stream of one answer', () => get({ 'if-none-match': '*', accept: 'text/event-stream' })],
  ['another path', () => app.fetch('/nowhere', { headers: { 'if-none-match': '*' } })],
])('There is neither a validator nor 304 for %s', async (_what, ask) => {
  const { status, headers } = await ask();
  expect(status).not.toBe(304);
  expect(headers.get('etag')).toBeNull();
  expect(headers.get('cache-control')).toMatch(/^no-store(?:, no-transform)?$/);
});

describe('A 304', () => {
  const limited = useApp({ settings: { RATE_LIMIT_BURST: '20', RATE_LIMIT_PER_SECOND: '0.001' } });

  it('takes a token, and is in the log and the metrics as what it is', async () => {
    const { key: own } = await limited.account();
    const ask = (headers: Fields = {}) =>
      limited.fetch(address(LIST), { headers: { authorization: `Bearer ${own}`, ...headers } });
    const left = ({ headers }: Response) => Number(headers.get('x-ratelimit-remaining'));
    const first = await ask();
    const second = await ask({ 'if-none-match': etagOf(first), 'x-request-id': 'asked-again' });
    expect([second.status, left(second)]).toEqual([304, left(first) - 1]);
    const line = limited.logged.find((it) => it.includes('"asked-again"') && it.includes('"status"'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ status: 304, operation: 'query', path: '/graphql' });
    const metrics = await (await limited.fetch('/metrics')).text();
    expect(metrics).toContain('content_graph_http_requests_total{route="/graphql",status="304"} 1');
  });
});
