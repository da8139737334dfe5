import { readFileSync } from 'node:fs';
import { useAPQ } from '@graphql-yoga/plugin-apq';
import { createYoga } from 'graphql-yoga';
import { describe, expect, it } from 'vitest';
import { createYogaOf } from '../../../examples/yoga.ts';
import type { App } from '../../../src/app/create-app.ts';
import { useAuthentication } from '../../../src/http/hooks/authentication.ts';
import { useEngine } from '../../../src/http/yoga/use-engine.ts';
import { expectRejected } from '../../support/rejection.ts';
import { CREATE, EVENTS, POSTS, useHost, type YogaHost } from '../../support/yoga-host.ts';

const DEEP = `{ posts ${'{ author { posts '.repeat(6)}{ id } ${'} }'.repeat(6)} }`;
const NAMED = 'query Named($limit: Int!) { posts(limit: $limit) { id } }';
const SETTINGS = { RATE_LIMIT_BURST: '50', RATE_LIMIT_PER_SECOND: '0.001' };

const countPosts = ({ app }: YogaHost) => app.prisma.post.count();

describe('examples/yoga.ts', () => {
  const host = useHost([], {}, SETTINGS, (app) => createYogaOf(app).fetch);

  it('has 40 lines at most', () => {
    const text = readFileSync('examples/yoga.ts', 'utf8');
    expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  });

  it('authenticates requests, and counts them', async () => {
    const result = await host.ask(POSTS);
    expect(result.data.posts).toHaveLength(1);
    expect(Number(result.headers.get('x-ratelimit-remaining'))).toBeLessThan(50);
    expectRejected(await host.ask(POSTS, { key: undefined }), { code: 'UNAUTHENTICATED', status: 401 });
    expectRejected(await host.ask(POSTS, { key: 'cg_wrong' }), { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('runs a mutation with a key once', async () => {
    const before = await countPosts(host);
    const [first, second] = await host.keyed(CREATE);
    expect(first.replayed).toBeNull();
    expect(second).toEqual({ ...first, replayed: 'true' });
    expect(await countPosts(host)).toBe(before + 1);
  });

  it('gives events ids, by which a stream resumes', async () => {
    await host.expectEvents();
  });

  it('rejects operations over the limits', async () => {
    expectRejected(await host.ask(DEEP), { code: 'DEPTH_LIMIT', status: 400 });
  });

  it('returns the rejection and the errors of a request to no other request with the same text', async () => {
    expectRejected(await host.ask(POSTS, { key: undefined }), { code: 'UNAUTHENTICATED', status: 401 });
    expect((await host.ask(POSTS)).errors).toBeUndefined();
    const wrong = await host.ask(NAMED, { variables: { limit: 'many' } });
    expectRejected(wrong, { code: 'BAD_USER_INPUT' });
    expect((await host.ask(NAMED, { variables: { limit: 1 } })).data.posts).toHaveLength(1);
    expectRejected(await host.ask('{ nothing }'), { code: 'GRAPHQL_VALIDATION_FAILED' });
    const stranger = await host.ask('{ nothing }', { key: undefined });
    expectRejected(stranger, { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('responds to HEAD without a body', async () => {
    const headers = { authorization: `Bearer ${host.key}` };
    const response = await host.fetch(`/graphql?query=${encodeURIComponent(POSTS)}`, {
      method: 'HEAD',
      headers,
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  it('limits the requests of a client', async () => {
    const { key } = await host.app.account();
    const statuses = await Promise.all(
      Array.from({ length: 51 }, async () => (await host.ask('{ __typename }', { key })).status),
    );
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
  });
});

describe('a Yoga server without some plugins of the service, with one of Yoga and another path', () => {
  const host = useHost([], {}, {}, ({ host: parts }: App) => {
    const yoga = createYoga({
      schema: parts.schema,
      graphqlEndpoint: '/api',
      plugins: [useEngine(parts.engine), useAPQ(), useAuthentication(parts.authentication)],
      maskedErrors: false,
      cors: false,
    });
    return (request) => yoga.fetch(new Request(request.url.replace('/graphql', '/api'), request));
  });

  it('rejects a mutation with a key, which nothing would keep', async () => {
    const before = await countPosts(host);
    const [first, second] = await host.keyed(CREATE);
    expect(first).toEqual(second);
    expect(JSON.parse(first.text).errors[0].extensions.code).toBe('BAD_REQUEST');
    expect(await countPosts(host)).toBe(before);
    expect((await host.ask(CREATE)).errors).toBeUndefined();
  });

  it('rejects subscriptions', async () => {
    const result = await host.post({ query: EVENTS }, { accept: 'text/event-stream' });
    expectRejected(result, { code: 'BAD_REQUEST', status: 400 });
  });

  it('rejects bad credentials, although nothing counts them', async () => {
    const result = await host.ask(POSTS, { key: 'cg_wrong' });
    expectRejected(result, { code: 'UNAUTHENTICATED', status: 401 });
    expect(result.headers.get('www-authenticate')).toMatch(/invalid_token.*resource_metadata/);
  });

  it('has no limits and no buckets', async () => {
    const result = await host.ask(DEEP);
    expect(result.errors).toBeUndefined();
    expect(result.headers.get('x-ratelimit-limit')).toBeNull();
  });

  it('calls the hooks of the plugin of Yoga', async () => {
    const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };
    const unknown = await host.post({ extensions: { persistedQuery } });
    expect(unknown.errors?.[0]?.extensions.code).toBe('PERSISTED_QUERY_NOT_FOUND');
  });
});
