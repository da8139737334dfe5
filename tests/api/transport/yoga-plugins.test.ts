import { createHash } from 'node:crypto';
import { useAPQ } from '@graphql-yoga/plugin-apq';
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import { useCookies } from '@whatwg-node/server-plugin-cookies';
import { GraphQLError, parse } from 'graphql';
import { createGraphQLError, type Plugin } from 'graphql-yoga';
import { beforeAll, describe, expect, it } from 'vitest';
import { YOGA_PLUGINS } from '../../../src/app/yoga-plugins.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { graphqlPost, readResponse } from '../../support/graphql.ts';
import { readMetricBy } from '../../support/metrics.ts';
import { useSocket } from '../../support/socket.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

const EVENTS = 'subscription { postCreated { id } }';
const POSTS = '{ posts(limit: 2) { id title author { name } } }';
const CSRF = { 'x-graphql-yoga-csrf': '1' };

/** A member that a plugin adds to the context. */
const OWN: object = { own: 1 };

/** Counts the hooks that have run, and hands out a cookie with each GraphQL response. */
function watching(ran: string[]): Plugin {
  return {
    onYogaInit: () => void ran.push('onYogaInit'),
    onRequest: () => void ran.push('onRequest'),
    onRequestParse: ({ request }) => {
      ran.push('onRequestParse');
      void request.cookieStore?.set('seen', 'yes');
      return { onRequestParseDone: () => void ran.push('onRequestParseDone') };
    },
    onParams: () => void ran.push('onParams'),
    onResultProcess: () => void ran.push('onResultProcess'),
    onResponse: () => void ran.push('onResponse'),
  };
}

describe('Plugins of Yoga', () => {
  const ran: string[] = [];
  const app = useApp({
    settings: { MAX_DEPTH: '5' },
    yogaPlugins: [useCookies<object>(), useCSRFPrevention(), useAPQ(), watching(ran)],
  });
  const socket = useSocket(app);
  let key = '';
  let authorization = '';
  beforeAll(async () => {
    ({ key } = await app.account());
    authorization = `Bearer ${key}`;
    await app.gql('mutation { createPost(title: "t", body: "b") { id } }', { key });
  });

  const post = (body: object, headers: Record<string, string> = {}) =>
    socket.fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization, ...headers },
      body: JSON.stringify(body),
    });
  const get = (query: string, headers: Record<string, string>) =>
    socket.fetch(`/graphql?query=${encodeURIComponent(query)}`, { headers: { authorization, ...headers } });

  it('are none as shipped', () => {
    expect(YOGA_PLUGINS).toEqual([]);
  });

  it('have every hook of theirs run for a query, in Yoga’s order', async () => {
    ran.length = 0;
    const response = await post({ query: POSTS });
    expect(await response.json()).toMatchObject({ data: { posts: [{ title: 't' }] } });
    expect(ran).toEqual([
      'onRequest',
      'onRequestParse',
      'onRequestParseDone',
      'onParams',
      'onResultProcess',
      'onResponse',
    ]);
    expect(socket.fastResponses).toBe(0);
  });

  it('set cookies with queries and streams', async () => {
    const query = await post({ query: POSTS });
    const stream = await post({ query: EVENTS }, { accept: 'text/event-stream' });
    for (const { status, headers } of [query, stream]) {
      expect(status).toBe(200);
      expect(headers.getSetCookie()).toEqual([expect.stringContaining('seen=yes')]);
      expect(headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/);
    }
    await stream.body?.cancel();
  });

  it.each([
    ['queries', POSTS, 'application/json'],
    ['streams', EVENTS, 'text/event-stream'],
  ])(
    'reject %s that another site could send, with the plugin’s own message',
    async (_what, query, accept) => {
      const rejected = await get(query, { accept });
      expect(rejected.status).toBe(403);
      const { errors } = await rejected.json();
      expect(errors).toEqual([
        { message: 'Required CSRF header(s) not present', extensions: { code: 'FORBIDDEN' } },
      ]);
      const accepted = await get(query, { accept, ...CSRF });
      expect(accepted.status).toBe(200);
      await accepted.body?.cancel();
    },
  );

  it('put a text in place of a hash, and say what they do not know', async () => {
    const sha256Hash = createHash('sha256').update(POSTS).digest('hex');
    const extensions = { persistedQuery: { version: 1, sha256Hash } };
    const unknown = await post({ extensions });
    expect(await unknown.json()).toEqual({
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
    });
    expect((await post({ query: POSTS, extensions })).status).toBe(200);
    expect(await (await post({ extensions })).json()).toMatchObject({ data: { posts: [{ title: 't' }] } });
  });

  it('change nothing of limits, permissions and credentials', async () => {
    const deep = await post({
      query: '{ posts { author { posts { author { posts { author { name } } } } } } }',
    });
    expect(deep.status).toBe(400);
    expect((await deep.json()).errors[0].extensions.code).toBe('DEPTH_LIMIT');
    expect((await post({ query: POSTS }, { authorization: 'Bearer wrong' })).status).toBe(401);
    const { key: reader } = await app.account({ scopes: ['posts:read'] });
    const written = await post(
      { query: 'mutation { createPost(title: "t", body: "b") { id } }' },
      { authorization: `Bearer ${reader}` },
    );
    expect(written.status).toBe(403);
    expect((await post({ query: 3 })).status).toBe(400);
    expect((await socket.fetch('/health/live')).status).toBe(200);
    expect((await socket.fetch('/nowhere')).status).toBe(404);
  });

  it('leave events and their order to subscribers', async () => {
    const stream = await post({ query: EVENTS }, { accept: 'text/event-stream' });
    const { data } = await app.gql('mutation { createPost(title: "told", body: "b") { id } }', { key });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (reader !== undefined && !text.includes(data.createPost.id)) text += (await reader.read()).value;
    expect(text).toContain('event: next');
    await reader?.cancel();
  });
});

describe('A plugin of Yoga', () => {
  const holder: { plugin: Plugin } = { plugin: {} };
  const app = useApp({
    settings: { MAX_DEPTH: '5' },
    yogaPlugins: [
      {
        onRequest: (payload) => holder.plugin.onRequest?.(payload),
        onParams: (payload) => holder.plugin.onParams?.(payload),
        onParse: (payload) => holder.plugin.onParse?.(payload),
        onValidate: (payload) => holder.plugin.onValidate?.(payload),
        onContextBuilding: (payload) => holder.plugin.onContextBuilding?.(payload),
        onExecute: (payload) => holder.plugin.onExecute?.(payload),
        onSubscribe: (payload) => holder.plugin.onSubscribe?.(payload),
        onExecutionResult: (payload) => holder.plugin.onExecutionResult?.(payload),
        onResultProcess: (payload) => holder.plugin.onResultProcess?.(payload),
        onResponse: (payload) => holder.plugin.onResponse?.(payload),
      } satisfies Plugin,
    ],
  });
  const caller = useAccount(app);
  const ask = (plugin: Plugin, query = POSTS, headers = {}, variables?: object) => {
    holder.plugin = plugin;
    return app.fetch('/graphql', graphqlPost(query, { key: caller.key, headers, variables }));
  };
  const codeOf = async (response: Response) => (await readResponse(response)).errors?.[0]?.extensions.code;
  const openStreams = async () => {
    // The request for metrics passes the plugin, too.
    holder.plugin = {};
    const open = await readMetricBy(app.app, 'content_graph_event_streams_open_by_format', 'format');
    return [...open.values()].reduce((sum, count) => sum + count, 0);
  };

  it('adds to a result', async () => {
    const response = await ask({
      onResultProcess: ({ result, setResult }) => setResult({ ...result, extensions: { from: 'a plugin' } }),
    });
    expect(await response.json()).toMatchObject({ data: { posts: [] }, extensions: { from: 'a plugin' } });
  });

  it('answers by itself', async () => {
    const response = await ask({ onParams: ({ setResult }) => setResult({ data: { by: 'a plugin' } }) });
    expect(await response.json()).toEqual({ data: { by: 'a plugin' } });
  });

  it('has the hooks of execution run in Yoga’s order, on one context', async () => {
    const ran: string[] = [];
    const contexts = new Set<unknown>();
    const plugin: Plugin = {
      onParse: ({ context }) => {
        ran.push('onParse');
        contexts.add(context);
        return ({ result }) => void ran.push(`parsed ${result === null ? 'nothing' : 'a document'}`);
      },
      onValidate: ({ context }) => {
        ran.push('onValidate');
        contexts.add(context);
        return ({ valid }) => void ran.push(`validated ${valid}`);
      },
      onContextBuilding: ({ extendContext }) => {
        ran.push('onContextBuilding');
        extendContext(OWN);
      },
      onExecute: ({ args }) => {
        ran.push(`onExecute own=${Reflect.get(args.contextValue, 'own')}`);
        contexts.add(args.contextValue);
        return {
          onExecuteDone({ result, setResult }) {
            if ('data' in result)
              setResult({ ...result, extensions: { seen: Object.keys(result.data ?? {}) } });
          },
        };
      },
      onExecutionResult: () => void ran.push('onExecutionResult'),
      onResultProcess: () => void ran.push('onResultProcess'),
    };
    const { data, extensions } = await readResponse(await ask(plugin));
    expect([data, extensions]).toEqual([{ posts: [] }, { seen: ['posts'] }]);
    expect(ran).toEqual([
      'onParse',
      'parsed a document',
      'onValidate',
      'validated true',
      'onContextBuilding',
      'onExecute own=1',
      'onExecutionResult',
      'onResultProcess',
    ]);
    expect(contexts.size).toBe(1);
    ran.length = 0;
    await ask(plugin, '{ nothing }');
    expect(ran).toEqual([
      'onParse',
      'parsed a document',
      'onValidate',
      'validated false',
      'onExecutionResult',
      'onResultProcess',
    ]);
  });

  it('sees the error behind a masked one', async () => {
    const broken: Plugin = {
      onExecute: ({ setExecuteFn }) => setExecuteFn(() => Promise.reject(new Error('the bug'))),
    };
    const seen: unknown[] = [];
    const response = await ask({
      ...broken,
      onExecutionResult: ({ result }) => {
        if (result !== undefined && 'errors' in result) seen.push(result.errors?.[0]?.originalError);
      },
    });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('the bug');
    expect(seen).toEqual([expect.objectContaining({ message: 'the bug' })]);
  });

  const deep = '{ posts { author { posts { author { posts { author { name } } } } } } }';
  const replacing = (document: string): Plugin => ({
    onParse: ({ setParsedDocument }) => setParsedDocument(parse(document)),
    onValidate: ({ setResult }) => setResult([]),
  });
  const executing = (change: object): Plugin => ({
    onExecute: ({ args }) => void Object.assign(args, change),
  });

  it.each<[string, Plugin, string]>([
    ['puts a deep document in place of another', replacing(deep), 'DEPTH_LIMIT'],
    ['puts an invalid document in place of another', replacing('{ nothing }'), 'GRAPHQL_VALIDATION_FAILED'],
    ['puts a deep document in place at execution', executing({ document: parse(deep) }), 'DEPTH_LIMIT'],
    [
      'puts an invalid document in place at execution',
      executing({ document: parse('{ nothing }') }),
      'GRAPHQL_VALIDATION_FAILED',
    ],
  ])('that %s does not pass limits', async (_what, plugin, code) => {
    expect(await codeOf(await ask(plugin))).toBe(code);
  });

  it('that changes variables at execution does not pass limits', async () => {
    const query = 'query ($n: Int) { posts(limit: $n) { author { posts(limit: 100) { id } } } }';
    const few = await ask({}, query, {}, { n: 1 });
    expect(await codeOf(few)).toBeUndefined();
    const many = await ask(executing({ variableValues: { n: 100 } }), query, {}, { n: 1 });
    expect(await codeOf(many)).toBe('COMPLEXITY_LIMIT');
    const wrong = await ask(executing({ variableValues: { n: 'x' } }), query, {}, { n: 1 });
    expect(await codeOf(wrong)).toBe('BAD_USER_INPUT');
  });

  it('puts a document in place of one with a syntax error', async () => {
    const { data } = await readResponse(await ask(replacing(POSTS), 'nonsense'));
    expect(data).toEqual({ posts: [] });
  });

  it('replaces, leaves out and completes events', async () => {
    const only: Plugin = {
      onSubscribe: () => ({
        onSubscribeResult: ({ result, setResult }) => {
          if (!(Symbol.asyncIterator in result)) return;
          const events = result;
          setResult(
            (async function* first() {
              for await (const event of events) {
                yield { ...event, extensions: { from: 'a plugin' } };
                return;
              }
            })(),
          );
        },
      }),
    };
    const response = await ask(only, EVENTS, { accept: 'text/event-stream' });
    const stream = readEventStream(response);
    holder.plugin = {};
    const { data } = await app.gql('mutation { createPost(title: "one", body: "b") { id } }', caller);
    expect(await stream.next()).toEqual({
      data: { postCreated: data.createPost },
      extensions: { from: 'a plugin' },
    });
    expect((await stream.event())?.event).toBe('complete');
    await expect.poll(openStreams).toBe(0);
  });

  it('that fails on an event has the client come again', async () => {
    const failing: Plugin = {
      onSubscribe: () => ({
        onSubscribeResult: () => ({ onNext: () => Promise.reject(new Error('fails on an event')) }),
      }),
    };
    const stream = readEventStream(await ask(failing, EVENTS, { accept: 'text/event-stream' }));
    await stream.block();
    holder.plugin = {};
    await app.gql('mutation { createPost(title: "two", body: "b") { id } }', caller);
    await expect(stream.event()).rejects.toThrow();
    expect(app.logged.join('')).toContain('fails on an event');
    await expect.poll(openStreams).toBe(0);
  });

  it('is told of the end of a stream whose client leaves', async () => {
    const ended: string[] = [];
    const plugin: Plugin = {
      onSubscribe: () => ({ onSubscribeResult: () => ({ onEnd: () => void ended.push('ended') }) }),
    };
    const stream = readEventStream(await ask(plugin, EVENTS, { accept: 'text/event-stream' }));
    await stream.block();
    await stream.close();
    await expect.poll(() => ended).toEqual(['ended']);
  });

  it('answers with a stream of its own', async () => {
    const response = await ask({
      onRequest: ({ fetchAPI, endResponse }) =>
        endResponse(
          new fetchAPI.Response(
            new fetchAPI.ReadableStream({
              pull: (controller) => controller.enqueue(new TextEncoder().encode('event: own\ndata:\n\n')),
            }),
            { headers: { 'content-type': 'text/event-stream' } },
          ),
        ),
    });
    const stream = readEventStream(response);
    expect((await stream.event())?.event).toBe('own');
    expect((await stream.event())?.event).toBe('own');
  });

  it('names the status and the headers of its results', async () => {
    const http = { status: 202, headers: { 'X-Own': 'yes' } };
    const response = await ask({
      onResultProcess: ({ result, setResult }) => setResult({ ...result, extensions: { http } }),
    });
    expect([response.status, response.headers.get('x-own')]).toEqual([202, 'yes']);
    expect(await response.json()).toEqual({ data: { posts: expect.any(Array) } });
  });

  it('reports errors of another copy of graphql-js', async () => {
    const foreign = Object.assign(new Error('Not today.'), { name: 'GraphQLError', extensions: {} });
    const response = await ask({
      onExecute: () => {
        throw foreign;
      },
    });
    expect(foreign).not.toBeInstanceOf(GraphQLError);
    expect(await response.json()).toMatchObject({
      errors: [{ message: 'Not today.', extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });

  it.each(['onResultProcess', 'onResponse'] as const)(
    'that fails in %s leaves no stream open',
    async (hook) => {
      const failing = { [hook]: () => Promise.reject(new Error('fails')) };
      expect((await ask(failing, EVENTS, { accept: 'text/event-stream' })).status).toBe(500);
      expect(await openStreams()).toBe(0);
    },
  );

  it.each(['onRequest', 'onParams', 'onResultProcess', 'onResponse'] as const)(
    'that fails in %s is told of in the log, and not to the client',
    async (hook) => {
      const response = await ask({
        [hook]() {
          throw new Error('a secret of the plugin');
        },
      });
      expect(response.status).toBe(500);
      expect(response.headers.get('x-request-id')).not.toBeNull();
      const text = await response.text();
      expect(JSON.parse(text).errors[0].extensions.code).toBe('INTERNAL_SERVER_ERROR');
      expect(text).not.toContain('a secret');
      expect(app.logged.join('')).toContain('a secret of the plugin');
    },
  );

  it('rejects a request with a status and headers of its own', async () => {
    const response = await ask({
      onParams() {
        throw createGraphQLError('Closed on Sundays.', {
          extensions: { http: { status: 503, headers: { 'retry-after': '60' } } },
        });
      },
    });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('60');
    expect((await response.json()).errors).toEqual([
      { message: 'Closed on Sundays.', extensions: { code: 'SERVICE_UNAVAILABLE' } },
    ]);
  });
});
