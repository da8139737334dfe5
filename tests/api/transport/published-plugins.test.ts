import { useDepthLimit } from '@envelop/depth-limit';
import { useGenericAuth } from '@envelop/generic-auth';
import { useOnResolve } from '@envelop/on-resolve';
import { useOpenTelemetry } from '@envelop/opentelemetry';
import { useRateLimiter } from '@envelop/rate-limiter';
import { useApolloInlineTrace } from '@graphql-yoga/plugin-apollo-inline-trace';
import { useDeferStream } from '@graphql-yoga/plugin-defer-stream';
import { useDisableIntrospection } from '@graphql-yoga/plugin-disable-introspection';
import { useGraphQLSSE } from '@graphql-yoga/plugin-graphql-sse';
import { createInlineSigningKeyProvider, extractFromHeader, useJWT } from '@graphql-yoga/plugin-jwt';
import { usePersistedOperations } from '@graphql-yoga/plugin-persisted-operations';
import { usePrometheus } from '@graphql-yoga/plugin-prometheus';
import { useResponseCache } from '@graphql-yoga/plugin-response-cache';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { parse } from 'graphql';
import { SignJWT } from 'jose';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { YogaPlugin } from '../../../src/http/yoga/yoga-host.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { addingExtension, CREATE, EVENTS, POSTS, useHost } from '../../support/yoga-host.ts';

interface ContextBuilding {
  readonly context: { readonly request: Request };
  readonly extendContext: (extension: object) => void;
}

const DEEP = '{ posts { author { posts { author { name } } } } }';
/** The result of any operation is acceptable. */
const ANY = { accept: 'application/json, text/event-stream' };
const persisted = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

describe('useResponseCache', () => {
  const host = useHost([
    useResponseCache({
      session: (request) => request.headers.get('authorization'),
      includeExtensionMetadata: true,
      ttl: 600_000,
    }),
  ]);
  const isHit = async (key = host.key) => {
    const { extensions = {} } = await host.ask(POSTS, { key });
    return (extensions.responseCache as { readonly hit?: boolean }).hit;
  };

  it('returns cached responses to the account that asked, and 304 for its ETag', async () => {
    expect(await isHit()).toBe(false);
    expect(await isHit()).toBe(true);
    const other = await host.app.account();
    expect(await isHit(other.key)).toBe(false);
    const etag = (await host.ask(POSTS)).headers.get('etag') ?? '';
    const headers = { authorization: `Bearer ${host.key}`, 'if-none-match': etag };
    const unchanged = await host.fetch(`/graphql?query=${encodeURIComponent(POSTS)}`, { headers });
    expect(unchanged.status).toBe(304);
  });

  it('is invalidated by mutations, with a key too', async () => {
    const { data } = await host.ask(POSTS);
    expect(await isHit()).toBe(true);
    const query = `mutation { updatePost(id: "${data.posts[0].id}", title: "changed") { id title } }`;
    await host.ask(query);
    expect(await isHit()).toBe(false);
    const [first, replay] = await host.keyed(query);
    expect(first.text).toBe(replay.text);
    expect((await host.ask(POSTS)).data.posts[0].title).toBe('changed');
  });

  it('leaves events as they are', () => host.expectEvents());
});

describe('usePrometheus', () => {
  const registry = new Registry();
  const host = useHost([
    usePrometheus({
      endpoint: '/plugin-metrics',
      registry,
      metrics: { graphql_envelop_phase_execute: true },
    }),
  ]);
  const counted = async (name: string, label: string) => {
    const metric = await registry.getSingleMetric(name)?.get();
    return metric?.values
      .filter(({ labels }) => Object.values(labels).includes(label))
      .reduce((sum, { value }) => sum + value, 0);
  };

  it('counts queries, mutations, replays and subscriptions, at an endpoint of its own', async () => {
    await host.ask(POSTS);
    await host.keyed(CREATE);
    await host.expectEvents();
    await host.ask('{ nothing }');
    expect(await counted('graphql_envelop_request', 'query')).toBe(1);
    // Two with a key, and the one whose event was received.
    expect(await counted('graphql_envelop_request', 'mutation')).toBe(3);
    // The stream is resumed once.
    expect(await counted('graphql_envelop_request', 'subscription')).toBe(2);
    expect(await counted('graphql_envelop_error_result', 'validate')).toBe(1);
    const response = await host.fetch('/plugin-metrics');
    expect(await response.text()).toMatch(/^graphql_envelop_phase_parse_count\{/m);
  });
});

describe('usePersistedOperations', () => {
  const operations = new Map<string, string | ReturnType<typeof parse>>([
    ['text', POSTS],
    ['ast', parse(POSTS)],
    ['create', CREATE],
    ['events', EVENTS],
    ['deep', `{ posts${' { author { posts'.repeat(6)} { id }${' } }'.repeat(6)} }`],
    ['invalid', '{ nothing }'],
  ]);
  const host = useHost([
    usePersistedOperations({
      skipDocumentValidation: true,
      getPersistedOperation: (id) => operations.get(id) ?? null,
    }),
  ]);

  it.each(['text', 'ast'])('runs a query that is stored as %s', async (id) => {
    const { data } = await host.post(persisted(id));
    expect(data.posts[0].author.name).toBe('Someone');
  });

  it('runs mutations, with a key too, and subscriptions', async () => {
    const [first, replay] = await host.keyedPost(persisted('create'));
    expect(first.text).toBe(replay.text);
    expect(replay.replayed).toBe('true');
    await host.expectEvents({ body: persisted('events'), create: () => host.post(persisted('create')) });
  });

  it('rejects any other operation', async () => {
    expect((await host.ask(POSTS)).errors?.[0]?.message).toBe('PersistedQueryOnly');
    expect((await host.post(persisted('unknown'))).errors?.[0]?.message).toBe('PersistedQueryNotFound');
  });

  it.each([
    ['deep', 'DEPTH_LIMIT'],
    ['invalid', 'GRAPHQL_VALIDATION_FAILED'],
  ])('skips neither limits nor validation: %s', async (id, code) => {
    expect((await host.post(persisted(id))).errors?.[0]?.extensions.code).toBe(code);
  });
});

describe('useJWT', () => {
  const secret = 'x'.repeat(40);
  const jwt = useJWT({
    signingKeyProviders: [createInlineSigningKeyProvider(secret)],
    tokenLookupLocations: [extractFromHeader({ name: 'x-token', prefix: 'Bearer' })],
    reject: { missingToken: false },
  });
  const subject = addingExtension(
    'subject',
    (context: { jwt?: { payload?: { sub?: string } } }) => context.jwt?.payload?.sub,
  );
  const host = useHost([jwt, subject]);
  const headers = async () => {
    const token = new SignJWT({ sub: 'someone' })
      .setProtectedHeader({ alg: 'HS256', kid: 'k' })
      .setExpirationTime('1h');
    return { 'x-token': `Bearer ${await token.sign(new TextEncoder().encode(secret))}` };
  };

  it('puts the payload into the context of queries, mutations and subscriptions', async () => {
    const options = { headers: await headers() };
    for (const query of [POSTS, CREATE])
      expect((await host.ask(query, options)).extensions).toEqual({ subject: 'someone' });
    const { extensions } = await host.expectEvents(options);
    expect(extensions).toEqual({ subject: 'someone' });
  });

  it('rejects a wrong token', async () => {
    const { status, errors } = await host.ask(POSTS, { headers: { 'x-token': 'Bearer a.b.c' } });
    expect([status, errors?.[0]?.message]).toEqual([400, 'Invalid authentication token provided']);
  });
});

describe('useDisableIntrospection', () => {
  const host = useHost([useDisableIntrospection()]);

  it('rejects introspection, and nothing else', async () => {
    const { errors } = await host.ask('{ __schema { queryType { name } } }');
    expect(errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(errors?.[0]?.message).toContain('introspection');
    expect((await host.ask(POSTS)).data.posts).toHaveLength(1);
    await host.expectEvents();
  });
});

describe('useApolloInlineTrace', () => {
  const host = useHost([useApolloInlineTrace()]);
  const headers = { 'apollo-federation-include-trace': 'ftv1' };
  /** The trace is a message of Protocol Buffers, in which the names of fields are readable. */
  const trace = async (query: string) => {
    const { ftv1 } = (await host.ask(query, { headers })).extensions ?? {};
    return Buffer.from(String(ftv1), 'base64').toString('latin1');
  };

  it('traces the fields of queries and mutations', async () => {
    expect(await trace(POSTS)).toMatch(/posts.*author.*name/s);
    expect(await trace(CREATE)).toMatch(/createPost.*author.*name/s);
  });

  it('traces only requests that ask, and no events', async () => {
    expect((await host.ask(POSTS)).extensions).toBeUndefined();
    expect((await host.expectEvents({ headers })).extensions).toBeUndefined();
  });
});

describe('useGraphQLSSE', () => {
  const host = useHost([useGraphQLSSE()]);
  const stream = (method: string, token: string | undefined, body?: object) =>
    host.fetch('/graphql/stream', {
      method,
      headers: {
        authorization: `Bearer ${host.key}`,
        ...(token === undefined ? {} : { 'x-graphql-event-stream-token': token }),
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(method === 'GET' || token === undefined ? { accept: 'text/event-stream' } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it.each([
    ['a query', POSTS],
    ['a mutation', CREATE],
  ])('gives the result of %s on a connection of its own', async (_what, query) => {
    const events = readEventStream(await stream('POST', undefined, { query }));
    expect(Object.keys((await events.next()).data)).toHaveLength(1);
    expect((await events.event())?.event).toBe('complete');
  });

  it('gives events on a connection of its own, and closes the stream with its client', async () => {
    const events = readEventStream(await stream('POST', undefined, { query: EVENTS }));
    await expect.poll(() => host.openStreams()).toBe(1);
    const { data } = await host.ask(CREATE);
    expect((await events.next()).data.postCreated).toEqual(data.createPost);
    await events.close();
    await expect.poll(() => host.openStreams()).toBe(0);
  });

  it('gives several operations on a single connection, under the limits', async () => {
    const put = await host.fetch('/graphql/stream', {
      method: 'PUT',
      headers: { authorization: `Bearer ${host.key}` },
    });
    expect(put.status).toBe(201);
    const token = await put.text();
    const events = readEventStream(await stream('GET', token));
    const start = (operationId: string, query: string) =>
      stream('POST', token, { query, extensions: { operationId } });
    expect((await start('q', POSTS)).status).toBe(202);
    expect(await events.next()).toMatchObject({ id: 'q', payload: { data: { posts: expect.any(Array) } } });
    expect((await events.event())?.event).toBe('complete');
    expect((await start('s', EVENTS)).status).toBe(202);
    const { data } = await host.ask(CREATE);
    expect(await events.next()).toEqual({ id: 's', payload: { data: { postCreated: data.createPost } } });
    const deep = await start('d', `{ posts${' { author { posts'.repeat(6)} { id }${' } }'.repeat(6)} }`);
    expect(await deep.text()).toContain('DEPTH_LIMIT');
  });
});

describe('An operation at the path of a plugin', () => {
  const host = useHost([useGraphQLSSE()], {}, { RATE_LIMIT_BURST: '3', RATE_LIMIT_PER_SECOND: '0.001' });
  const text = async (authorization: string | undefined) => {
    const response = await host.fetch('/graphql/stream', {
      method: 'POST',
      headers: {
        ...(authorization === undefined ? {} : { authorization }),
        accept: 'text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: '{ viewer { id } }' }),
    });
    return response.text();
  };

  it('needs credentials, and takes a token of the rate limit', async () => {
    expect(await text(undefined)).toContain('UNAUTHENTICATED');
    expect(await text('Bearer wrong')).toContain('UNAUTHENTICATED');
    for (const _ of [1, 2, 3]) expect(await text(`Bearer ${host.key}`)).toContain('"viewer"');
    expect(await text(`Bearer ${host.key}`)).toContain('RATE_LIMITED');
  });
});

describe('useRateLimiter', () => {
  const identifyFn = (context: unknown) => JSON.stringify((context as { readonly caller: unknown }).caller);
  const limited = (type: string, field: string) => ({ type, field, max: 2, window: '1h', identifyFn });
  const host = useHost([
    useRateLimiter({
      identifyFn,
      configByField: [limited('Query', 'posts'), limited('Mutation', 'createPost')],
    }),
  ]);

  it.each([
    ['queries', POSTS],
    ['mutations', CREATE],
  ])('limits %s of each account', async (_what, query) => {
    for (const _ of [1, 2]) expect((await host.ask(query)).errors).toBeUndefined();
    expect((await host.ask(query)).errors?.[0]?.message).toContain('too often');
    const other = await host.app.account();
    expect((await host.ask(query, { key: other.key })).errors).toBeUndefined();
  });
});

describe('useDepthLimit', () => {
  const host = useHost([useDepthLimit({ maxDepth: 3 })]);

  it('rejects deep queries, mutations and subscriptions', async () => {
    const author = '{ author { posts { author { name } } } }';
    for (const query of [
      DEEP,
      `mutation { createPost(title: "t", body: "b") ${author} }`,
      `subscription { postCreated ${author} }`,
    ]) {
      const { errors } = await host.ask(query, {
        headers: { accept: 'application/json, text/event-stream' },
      });
      expect(errors?.[0]).toMatchObject({
        message: expect.stringContaining('exceeds maximum operation depth'),
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
      });
    }
    expect((await host.ask(POSTS)).errors).toBeUndefined();
    await host.expectEvents();
  });
});

describe('useGenericAuth', () => {
  const headers = { 'x-user': '1' };
  const host = useHost(
    [
      useGenericAuth({
        mode: 'protect-all',
        resolveUserFn: ({ request }: { readonly request?: Request }) =>
          request?.headers.get('x-user') ? { id: 'u' } : null,
      }),
    ],
    headers,
  );

  it('rejects queries, mutations and subscriptions without its user', async () => {
    for (const query of [POSTS, CREATE, EVENTS]) {
      const { status, errors } = await host.ask(query, { headers: ANY });
      expect([status, errors?.[0]?.extensions.code]).toEqual([401, 'UNAUTHENTICATED']);
    }
    expect((await host.ask(POSTS)).errors).toBeUndefined();
    const [first, replay] = await host.keyed(CREATE);
    expect(replay).toMatchObject({ text: first.text, replayed: 'true' });
    await host.expectEvents();
  });
});

describe('useOnResolve', () => {
  const seen = new Set<string>();
  const host = useHost([
    useOnResolve(({ info }) => void seen.add(`${info.parentType.name}.${info.fieldName}`)),
  ]);
  const resolved = async (run: () => Promise<unknown>) => {
    seen.clear();
    await run();
    return [...seen].sort();
  };
  const POST_FIELDS = ['Post.author', 'Post.id', 'Post.title'];

  it('sees every resolver of queries, mutations and events', async () => {
    expect(await resolved(() => host.ask(POSTS))).toEqual([...POST_FIELDS, 'Query.posts', 'User.name']);
    expect(await resolved(() => host.ask(CREATE))).toEqual([
      'Mutation.createPost',
      ...POST_FIELDS,
      'User.name',
    ]);
    const alone = 'mutation { createPost(title: "alone", body: "b") { id } }';
    expect(await resolved(() => host.keyed(alone))).toEqual(['Mutation.createPost', 'Post.id']);
    expect(await resolved(() => host.expectEvents())).toContain('Subscription.postCreated');
  });
});

describe('A resolver that reads what a plugin has added to the context', () => {
  const added: YogaPlugin = {
    onContextBuilding: ({ context, extendContext }: ContextBuilding) =>
      extendContext({ reader: context.request.headers.get('x-reader') }),
  };
  const shown = useOnResolve<{ readonly reader: string }>(({ context, info }) =>
    info.fieldName === 'title' ? ({ setResult }) => setResult(`for ${context.reader}`) : undefined,
  );
  const host = useHost([added, shown]);

  it('gets what belongs to its request, for events of one account too', async () => {
    const streams = await Promise.all(
      ['one', 'two'].map(async (reader) => {
        const { headers, body, method } = graphqlPost(EVENTS, { key: host.key });
        const response = await host.fetch('/graphql', {
          method,
          body,
          headers: { ...headers, accept: 'text/event-stream', 'x-reader': reader },
        });
        const stream = readEventStream(response);
        await stream.block();
        return stream;
      }),
    );
    const { data } = await host.ask(CREATE, { headers: { 'x-reader': 'three' } });
    const titles = await Promise.all(
      streams.map(async (stream) => (await stream.next()).data.postCreated.title),
    );
    expect([...titles, data.createPost.title]).toEqual(['for one', 'for two', 'for three']);
  });
});

describe('useOpenTelemetry', () => {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const host = useHost([useOpenTelemetry({ resolvers: true }, provider)]);
  const spans = async (run: () => Promise<unknown>) => {
    exporter.reset();
    await run();
    return exporter.getFinishedSpans().map(({ name }) => name);
  };

  it('has spans of operations and resolvers for queries and mutations', async () => {
    expect(await spans(() => host.ask(POSTS))).toEqual(
      expect.arrayContaining(['Query.posts', 'Post.author', 'User.name', 'query.anonymous']),
    );
    expect(await spans(() => host.ask(CREATE))).toEqual(
      expect.arrayContaining(['Mutation.createPost', 'Post.author', 'User.name', 'mutation.anonymous']),
    );
  });

  it('has a span for a subscription, until its client leaves', async () => {
    await spans(() => host.expectEvents());
    await expect
      .poll(() => exporter.getFinishedSpans().map(({ name }) => name))
      .toContain('subscription.anonymous');
  });
});

describe('useDeferStream', () => {
  const host = useHost([]);

  it('is rejected at start, with the reason', () => {
    expect(() => secondInstance(host.app, { yogaPlugins: [useDeferStream()] })).toThrow(
      /^A plugin of src\/app\/yoga-plugins\.ts replaces the schema, [^\n]+ no incremental delivery\./,
    );
  });
});
