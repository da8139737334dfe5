import { beforeAll, expect } from 'vitest';
import type { App } from '../../src/app/create-app.ts';
import type { YogaPlugin } from '../../src/http/yoga/yoga-host.ts';
import { newId } from '../../src/platform/ids.ts';
import { ORIGIN, type TestApp, useApp } from './app.ts';
import { type GraphQLResponse, type GraphqlOptions, graphqlPost, readResponse } from './graphql.ts';
import { readMetricBy } from './metrics.ts';
import { readEventStream } from './streams/event-stream.ts';

export const POSTS = '{ posts(limit: 2) { id title author { name } } }';
export const CREATE = 'mutation { createPost(title: "made", body: "b") { id title author { name } } }';
export const EVENTS = 'subscription { postCreated { id title author { name } } }';

type Headers = Readonly<Record<string, string>>;

interface Keyed {
  readonly text: string;
  readonly replayed: string | null;
}

interface EventOptions {
  readonly headers?: Headers;
  /** The body of the subscription. */
  readonly body?: object;
  /** Creates the post of the event. */
  readonly create?: () => Promise<GraphQLResponse>;
}

/** A service with plugins of Yoga, and requests of one account that has a post. */
export interface YogaHost {
  readonly app: TestApp;
  readonly key: string;
  readonly fetch: TestApp['fetch'];
  readonly ask: (query: string, options?: GraphqlOptions) => Promise<GraphQLResponse>;
  readonly post: (body: object, headers?: Headers) => Promise<GraphQLResponse>;
  /** Sends a mutation twice with one key. */
  readonly keyed: (query: string) => Promise<readonly [Keyed, Keyed]>;
  readonly keyedPost: (body: object) => Promise<readonly [Keyed, Keyed]>;
  /** Subscribes, creates a post, and expects its event, then resumes before it. Returns extensions and headers. */
  readonly expectEvents: (
    options?: EventOptions,
  ) => Promise<{ readonly extensions: unknown; readonly headers: Response['headers'] }>;
  readonly openStreams: () => Promise<number>;
}

type Serve = (app: App) => (request: Request) => Promise<Response> | Response;

/**
 * Starts a service with plugins for the tests of a `describe`. All requests have the headers. `serve` makes another server
 * of the service, which gets the requests instead.
 */
export function useHost(
  plugins: readonly YogaPlugin[],
  needed: Headers = {},
  settings: Readonly<Record<string, string>> = {},
  serve?: Serve,
): YogaHost {
  const app = useApp({ yogaPlugins: plugins, settings });
  let served: ReturnType<Serve> | undefined;
  const fetch: TestApp['fetch'] = async (path, init) => {
    if (serve === undefined) return app.fetch(path, init);
    served ??= serve(app.app);
    return served(new Request(new URL(path, ORIGIN), init));
  };
  let key = '';
  let keys = 0;
  const authorized = () => ({
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    ...needed,
  });
  beforeAll(async () => {
    const account = await app.account();
    key = account.key;
    await app.prisma.post.create({ data: { id: newId(), title: 'first', body: 'b', authorId: account.id } });
  });
  const send = (body: object, headers: Headers = {}) =>
    fetch('/graphql', {
      method: 'POST',
      headers: { ...authorized(), ...headers },
      body: JSON.stringify(body),
    });
  const post = async (body: object, headers?: Headers) => readResponse(await send(body, headers));
  const ask = async (query: string, options: GraphqlOptions = {}) => {
    const headers = options.headers ?? needed;
    return readResponse(await fetch('/graphql', graphqlPost(query, { key, ...options, headers })));
  };

  async function keyedPost(body: object): Promise<readonly [Keyed, Keyed]> {
    keys += 1;
    const once = async (idempotencyKey: string) => {
      const response = await send(body, { 'idempotency-key': idempotencyKey });
      return { text: await response.text(), replayed: response.headers.get('idempotency-replayed') };
    };
    const idempotencyKey = `key-of-the-plugin-${keys}`;
    return [await once(idempotencyKey), await once(idempotencyKey)];
  }

  return {
    app,
    get key() {
      return key;
    },
    fetch,
    ask,
    post,
    keyed: (query) => keyedPost({ query }),
    keyedPost,
    async expectEvents({ headers = {}, body = { query: EVENTS }, create = () => ask(CREATE) } = {}) {
      const open = async (more: Headers = {}) => {
        const response = await send(body, { accept: 'text/event-stream', ...headers, ...more });
        expect(response.status).toBe(200);
        return { headers: response.headers, stream: readEventStream(response) };
      };
      const { stream, headers: responded } = await open();
      const start = (await stream.block())?.id ?? '';
      expect(start).not.toBe('');
      const created = (await create()).data.createPost;
      const event = await stream.event();
      expect(event).toMatchObject({ event: 'next', id: expect.stringMatching(/./) });
      const { data, extensions } = JSON.parse(event?.data ?? '');
      expect(data.postCreated).toEqual(created);
      await stream.close();
      const { stream: resumed } = await open({ 'last-event-id': start });
      expect((await resumed.event())?.data).toBe(event?.data);
      await resumed.close();
      return { extensions, headers: responded };
    },
    async openStreams() {
      const open = await readMetricBy(app.app, 'content_graph_event_streams_open_by_format', 'format');
      return [...open.values()].reduce((sum, count) => sum + count, 0);
    },
  };
}

/** Adds an extension to each result and each event, from the context of its operation. */
export function addingExtension(name: string, read: (context: object) => unknown): YogaPlugin {
  return {
    onExecute: ({ args: { contextValue } }) => ({
      onExecuteDone: ({ result, setResult }) =>
        'data' in result && setResult({ ...result, extensions: { [name]: read(contextValue) } }),
    }),
    onSubscribe: ({ args: { contextValue } }) => ({
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) =>
          'data' in result && setResult({ ...result, extensions: { [name]: read(contextValue) } }),
      }),
    }),
  };
}
