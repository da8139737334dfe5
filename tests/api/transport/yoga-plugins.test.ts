import { createHash } from 'node:crypto';
import { useAPQ } from '@graphql-yoga/plugin-apq';
import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention';
import { useCookies } from '@whatwg-node/server-plugin-cookies';
import { createGraphQLError } from 'graphql-yoga';
import { beforeAll, describe, expect, it } from 'vitest';
import type { YogaPlugin } from '../../../src/http/pipeline/yoga.ts';
import { YOGA_PLUGINS } from '../../../src/yoga-plugins.ts';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readMetricBy } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { useSocket } from '../../support/socket.ts';

const EVENTS = 'subscription { postCreated { id } }';
const POSTS = '{ posts(limit: 2) { id title author { name } } }';
const CSRF = { 'x-graphql-yoga-csrf': '1' };

/** Counts the hooks that have run, and hands out a cookie with each GraphQL response. */
function watching(ran: string[]): YogaPlugin {
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
    expect(socket.fastAnswers).toBe(0);
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
    'refuse %s that another site could send, with the plugin’s own message',
    async (_what, query, accept) => {
      const refused = await get(query, { accept });
      expect(refused.status).toBe(403);
      const { errors } = await refused.json();
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
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({
      errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'NOT_FOUND' } }],
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
  const holder: { plugin: YogaPlugin } = { plugin: {} };
  const app = useApp({
    yogaPlugins: [
      {
        onRequest: (payload) => holder.plugin.onRequest?.(payload),
        onParams: (payload) => holder.plugin.onParams?.(payload),
        onResultProcess: (payload) => holder.plugin.onResultProcess?.(payload),
        onResponse: (payload) => holder.plugin.onResponse?.(payload),
      },
    ],
  });
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account());
  });
  const ask = (plugin: YogaPlugin, query = POSTS, headers = {}) => {
    holder.plugin = plugin;
    return app.fetch('/graphql', graphqlPost(query, { key, headers }));
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

  it('is told of no events, and replaces none', async () => {
    const response = await ask(
      { onResultProcess: ({ setResult }) => setResult((async function* none() {})()) },
      EVENTS,
      { accept: 'text/event-stream' },
    );
    expect(response.status).toBe(500);
    expect((await response.json()).errors[0].extensions.code).toBe('INTERNAL_SERVER_ERROR');
  });

  it.each(['onResultProcess', 'onResponse'] as const)(
    'that fails in %s leaves no stream open',
    async (hook) => {
      const failing = { [hook]: () => Promise.reject(new Error('fails')) };
      expect((await ask(failing, EVENTS, { accept: 'text/event-stream' })).status).toBe(500);
      // The request for metrics passes the plugin, too.
      holder.plugin = {};
      const open = await readMetricBy(app.app, 'event_streams_open_by_format', 'format');
      expect([...open.values()].reduce((sum, count) => sum + count, 0)).toBe(0);
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

  it('refuses a request with a status and headers of its own', async () => {
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

  it.each([
    'onExecute',
    'onSubscribe',
    'onParse',
    'onValidate',
    'onPluginInit',
    'onExecutionResult',
    'instrumentation',
  ])('with %s is refused at start, in one line', (hook) => {
    const plugins = [{}, { [hook]: () => undefined }];
    expect(() => secondInstance(app, { yogaPlugins: plugins })).toThrow(
      new RegExp(`^Plugin 2 of src/yoga-plugins\\.ts has "${hook}", which would never run: [^\\n]+$`),
    );
  });
});
