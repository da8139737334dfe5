import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { readEncoded } from '../../support/encoded.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { issueToken } from '../../support/streams/stream-token.ts';

const PAGE = 'https://app.example.com';
const LIST = '{ posts(limit: 100) { id title body createdAt author { id name } } }';
const TITLES = 'subscription { postCreated { title } }';

const app = useApp({ settings: { CORS_ORIGINS: PAGE } });
let key = '';
let cookie = '';

const address = (parameters: Record<string, string>) => `/graphql?${new URLSearchParams(parameters)}`;

beforeAll(async () => {
  ({ key, cookie } = await visitor(app));
  const many = Array.from(
    { length: 20 },
    (_, at) => `p${at}: createPost(title: "${at}", body: $body) { id }`,
  );
  await app.gql(`mutation ($body: String!) { ${many.join(' ')} }`, {
    key,
    variables: { body: 'A text of some length. '.repeat(40) },
  });
});

/** Both paths through the service. */
describe.each([
  { name: 'without an Origin', origin: {} },
  { name: 'from a page of another origin', origin: { origin: PAGE } },
])('a request $name', ({ origin }) => {
  const ask = async (path: string, init: RequestInit = {}) =>
    readEncoded(
      await app.fetch(path, {
        ...init,
        headers: { 'accept-encoding': 'br, gzip', ...origin, ...init.headers },
      }),
    );

  it('with a key in its header is the one that is compressed', async () => {
    const result = await ask(address({ query: LIST }), { headers: { authorization: `Bearer ${key}` } });
    expect(result).toMatchObject({ status: 200, encoding: 'br' });
  });

  it('with a session cookie is not', async () => {
    const result = await ask(address({ query: LIST }), { headers: { cookie } });
    expect(result).toMatchObject({ status: 200, encoding: undefined });
    expect(result.size).toBeGreaterThan(10_000);
  });

  it('with a cookie beside the key in its header is not', async () => {
    const headers = { authorization: `Bearer ${key}`, cookie: 'theme=dark' };
    expect(await ask(address({ query: LIST }), { headers })).toMatchObject({
      status: 200,
      encoding: undefined,
    });
  });

  it.each(['api_key', '%61pi_key', 'api%5Fkey'])('with %s in its address is not', async (name) => {
    const result = await ask(`${address({ query: LIST })}&${name}=${key}`);
    expect(result).toMatchObject({ status: 200, encoding: undefined });
    expect(result.size).toBeGreaterThan(10_000);
  });

  it('with api_key in its address is not, also where the header is in effect or the key is rejected', async () => {
    const both = `${address({ query: LIST })}&api_key=${key}`;
    const headers = { authorization: `Bearer ${key}` };
    expect((await ask(both, { headers })).encoding).toBeUndefined();
    expect((await ask(`/metrics?api_key=${key}`)).encoding).toBeUndefined();
  });

  it('for a mutation is not, done or rejected', async () => {
    const many = Array.from(
      { length: 10 },
      (_, at) => `p${at}: createPost(title: "t", body: $body) { id title body }`,
    );
    const mutate = (variables: object, more: Record<string, string> = {}) =>
      ask(
        '/graphql',
        graphqlPost(`mutation ($body: String!) { ${many.join(' ')} }`, { key, variables, headers: more }),
      );
    const done = await mutate({ body: 'x'.repeat(500) });
    expect(done).toMatchObject({ status: 200, encoding: undefined });
    expect(done.size).toBeGreaterThan(5_000);
    const keyed = { 'idempotency-key': `"${crypto.randomUUID()}"` };
    await mutate({ body: 'y' }, keyed);
    const replayed = await mutate({ body: 'y' }, keyed);
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(replayed.encoding).toBeUndefined();
    const rejected = await mutate({});
    expect([JSON.parse(rejected.text).errors.length, rejected.encoding]).toEqual([1, undefined]);
  });

  it('for a stream is not, in either format', async () => {
    for (const accept of ['text/event-stream', 'multipart/mixed;subscriptionSpec=1.0']) {
      const stop = new AbortController();
      const response = await app.fetch(address({ query: TITLES }), {
        headers: { authorization: `Bearer ${key}`, accept, 'accept-encoding': 'br, gzip', ...origin },
        signal: stop.signal,
      });
      expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null]);
      await response.body?.cancel();
      stop.abort();
    }
  });

  it('for a query in the format of a stream is not', async () => {
    const result = await ask(address({ query: LIST }), {
      headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
    });
    expect(result).toMatchObject({ status: 200, encoding: undefined });
    expect(result.text).toContain('event: next');
  });

  it('for a stream by token is not, nor the request for the token', async () => {
    const token = await issueToken(app, { authorization: `Bearer ${key}` }, { query: TITLES });
    const stop = new AbortController();
    const response = await app.fetch(address({ stream_token: token }), {
      headers: { accept: 'text/event-stream', 'accept-encoding': 'br', ...origin },
      signal: stop.signal,
    });
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, null]);
    await readEventStream(response).close();
    const rejected = await ask(address({ stream_token: 'x'.repeat(2_000) }));
    expect([rejected.status, rejected.encoding]).toEqual([401, undefined]);
    const long = `subscription { ${'a'.repeat(90)}: ${Array.from({ length: 40 }, (_, at) => `nothing${at}`).join(' ')} }`;
    const wrong = await ask('/graphql/stream-token', graphqlPost(long, { key }));
    expect(wrong.status).toBe(400);
    expect(wrong.size).toBeGreaterThan(1_024);
    expect(wrong.encoding).toBeUndefined();
  });

  it.each(['/oauth/authorize?client_id=nobody', '/oauth/jwks'])('for %s is not', async (path) => {
    expect((await ask(path)).encoding).toBeUndefined();
  });

  it('for /login is not', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ email: 'nobody@example.com', password: 'x'.repeat(20_000) });
    expect((await ask('/login', { method: 'POST', headers, body })).encoding).toBeUndefined();
    expect((await ask('/login', { headers: { cookie } })).encoding).toBeUndefined();
  });
});
