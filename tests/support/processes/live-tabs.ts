import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { ChangesOptions, LiveList, LiveState, liveQuery, openChanges } from '../../../examples/live.ts';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { openBrowser } from './browser.ts';
import { migratedFolder } from './migrated-folder.ts';
import { ROOT, type Settings } from './process.ts';
import { demoKey, type ServerProcess, startServer } from './server.ts';

const PAGE =
  '<!doctype html><script type="module">import * as live from "/live.ts"; Object.assign(window, live);</script>';

const CHANGES = 'subscription { changes { kind postId post { id title body createdAt } } }';
const POSTS = `query ($first: Int!, $after: String) {
  postsConnection(first: $first, after: $after) { nodes { id title body createdAt } pageInfo { endCursor hasNextPage } }
}`;

interface Post {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  readonly createdAt: string;
}

interface Change {
  readonly postId: string;
  readonly post: Post | null;
}

interface Posts {
  readonly postsConnection: {
    readonly nodes: readonly Post[];
    readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean };
  };
}

/** The options of `openChanges` that can be sent to a page. */
export type TabOptions = Partial<Omit<ChangesOptions, 'headers' | 'onState' | 'url'>> & {
  readonly headers?: Record<string, string>;
  /** How many posts its list reads at once. */
  readonly first?: number;
};

/** A tab with a live list of all posts. */
export interface Tab {
  readonly page: Page;
  /** The titles of the posts that `createPosts` has made, in the order in which they were. */
  titles(): Promise<string[]>;
  list(): Promise<LiveList<Post>>;
  states(): Promise<LiveState[]>;
  /** The states without `connecting`, by their status. */
  statuses(): Promise<string[]>;
  retry(): Promise<void>;
  more(): Promise<void>;
  close(): Promise<void>;
}

/** An application on an origin of its own that serves `examples/live.ts` without its types. */
async function startApplication(): Promise<string> {
  const result = async (path: string) => {
    if (!path.endsWith('.ts')) return { type: 'text/html', text: PAGE };
    const source = await readFile(join(ROOT, 'examples', path), 'utf8');
    return { type: 'text/javascript', text: stripTypeScriptTypes(source) };
  };
  const server = createServer((request, response) => {
    result(new URL(request.url ?? '/', 'http://localhost').pathname).then(
      ({ type, text }) => response.writeHead(200, { 'content-type': type }).end(text),
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    );
  }).listen(0, 'localhost');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

async function openTab(
  context: BrowserContext,
  origin: string,
  url: string,
  options: TabOptions,
): Promise<Tab> {
  const page = await context.newPage();
  await page.goto(origin);
  // On the window: what a page that is gone back to still has.
  await page.evaluate(
    ({ headers, first, subscription, posts, ...given }) => {
      const states: LiveState[] = [];
      const open: typeof openChanges<Change> = Reflect.get(window, 'openChanges');
      const query: typeof liveQuery<Posts, Post, Change> = Reflect.get(window, 'liveQuery');
      const changes = open({
        query: subscription,
        identity: 'reader',
        ...given,
        ...(headers === undefined ? {} : { headers: async () => headers }),
        onState: (state) => states.push(state),
      });
      const live = query({
        changes,
        query: posts,
        variables: (after) => ({ first, after }),
        list: ({ postsConnection: { nodes, pageInfo } }) => ({
          items: nodes,
          more: pageInfo.hasNextPage ? pageInfo.endCursor : null,
        }),
        key: ({ id }) => id,
        order: (one, other) => (one.createdAt + one.id < other.createdAt + other.id ? 1 : -1),
        changed: ({ postId, post }) => ({ key: postId, item: post }),
        onList: (list) => Object.assign(window, { list }),
      });
      const { retry } = changes;
      Object.assign(window, { states, retry, close: changes.close, more: live.more });
    },
    { first: 100, subscription: CHANGES, posts: POSTS, ...options, url },
  );
  const call = (name: 'retry' | 'more' | 'close') =>
    page.evaluate((method) => Reflect.get(window, method)(), name);
  const list = (): Promise<LiveList<Post>> => page.evaluate(() => Reflect.get(window, 'list'));
  const states = (): Promise<LiveState[]> => page.evaluate(() => Reflect.get(window, 'states'));
  return {
    page,
    list,
    titles: async () =>
      ((await list()).items ?? [])
        .filter(({ body }) => body === 'b')
        .map(({ title }) => title)
        .reverse(),
    states,
    statuses: async () =>
      (await states()).map(({ status }) => status).filter((status) => status !== 'connecting'),
    retry: () => call('retry'),
    more: () => call('more'),
    close: () => call('close'),
  };
}

/** The service in a process with demo data, and a browser in front of an application on another origin. */
export async function startLiveTabs(settings: Settings = {}) {
  const dataDir = await migratedFolder();
  const application = await startApplication();
  const PORT = String(await freePort());
  const given = { RATE_LIMIT_BURST: '10000', CORS_ORIGINS: application, PORT, ...settings };
  const server = await startServer(dataDir, given);
  const key = await demoKey(dataDir);
  // Browsers keep Secure cookies of this name without TLS.
  const api = `http://localhost:${PORT}`;
  const { context, close } = await openBrowser(application, { others: [api], backForwardCache: true });
  onTestFinished(close);
  const askedForStream: Page[] = [];
  context.on('request', (request) => {
    if (request.postData()?.includes('subscription') && request.url() === `${api}/graphql`)
      askedForStream.push(request.frame().page());
  });
  const withKey = { headers: { authorization: `Bearer ${key}` } };
  const open = (options: TabOptions = withKey) => openTab(context, application, `${api}/graphql`, options);
  return {
    server,
    dataDir,
    api,
    context,
    key,
    open,
    /** Opens tabs, and returns once each of them says that it is live. */
    async openLiveTabs(count: number, options: TabOptions = withKey): Promise<Tab[]> {
      const tabs: Tab[] = [];
      for (let index = 0; index < count; index += 1) tabs.push(await open(options));
      for (const { statuses } of tabs) await expect.poll(statuses).toContain('live');
      return tabs;
    },
    /** The pages that have asked for a stream, one for each request. */
    askedForStream,
    restart: () => startServer(dataDir, given),
  };
}

export async function createPosts(
  server: ServerProcess,
  key: string,
  titles: readonly string[],
): Promise<void> {
  for (const title of titles) {
    const { errors } = await server.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
      { key, variables: { title } },
    );
    expect(errors).toBeUndefined();
  }
}

/** Waits until so many streams are open: the server notices the end of a stream only when it writes to it again. */
export async function expectOpenStreams({ origin }: ServerProcess, count: number): Promise<void> {
  const open = async () => {
    const text = await (await fetch(`${origin}/metrics`)).text();
    return Number(/^content_graph_event_streams_open (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(open).toBe(count);
}
