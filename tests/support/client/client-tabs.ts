import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type * as client from '../../../packages/client/src/index.ts';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { openBrowser } from '../processes/browser.ts';
import { migratedFolder } from '../processes/migrated-folder.ts';
import { ROOT } from '../processes/process.ts';
import { demoKey, startServer } from '../processes/server.ts';

const PAGE =
  '<!doctype html><script type="module">import * as client from "/index.ts"; window.client = client;</script>';

const CHANGES = 'subscription { changes { postId post { id title body createdAt } } }';
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

/** A tab with a live list of all posts. */
export interface ClientTab {
  readonly page: Page;
  /** The titles of the posts with the body `b`, oldest first. */
  titles(): Promise<string[]>;
  /** The states of the stream: `since` if it is live, `reason` if it reconnects, and otherwise the status. */
  states(): Promise<string[]>;
  retry(): Promise<void>;
  /** Reads the next page of the list. */
  more(): Promise<void>;
  close(): Promise<void>;
}

/** How a tab differs from the others. */
interface TabOptions {
  readonly identity?: string;
  /** The number of posts on a page of its list. */
  readonly first?: number;
}

/** Serves the sources of the package without their types. */
async function startApplication(): Promise<string> {
  const read = async (path: string) => {
    if (!path.endsWith('.ts')) return { type: 'text/html', text: PAGE };
    const source = await readFile(join(ROOT, 'packages/client/src', path), 'utf8');
    return { type: 'text/javascript', text: stripTypeScriptTypes(source) };
  };
  const server = createServer((request, response) => {
    read(new URL(request.url ?? '/', 'http://localhost').pathname).then(
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
  key: string,
  options: TabOptions,
): Promise<ClientTab> {
  const page = await context.newPage();
  await page.goto(origin);
  await page.evaluate(
    ({ url, key, identity = 'reader', first = 100, subscription, posts }) => {
      const { createClient, openChanges, liveQuery, readConnection }: typeof client = Reflect.get(
        window,
        'client',
      );
      const states: string[] = [];
      const opened = createClient({ url, identity, headers: { authorization: `Bearer ${key}` } });
      const changes = openChanges<{ changes: Change }, Change>(opened, subscription, (data) => data.changes);
      changes.state.subscribe((state) => {
        const { status } = state;
        states.push(status === 'live' ? state.since : status === 'reconnecting' ? state.reason : status);
      });
      const list = liveQuery(changes, {
        document: posts,
        variables: (after) => ({ first, after }),
        list: ({ postsConnection }: Posts) => readConnection(postsConnection),
        changed: ({ postId, post }) => ({ key: postId, item: post }),
      });
      Object.assign(window, { states, list, opened });
    },
    { url, key, subscription: CHANGES, posts: POSTS, ...options },
  );
  const call = (method: 'retry' | 'close') =>
    page.evaluate((name) => {
      const opened: client.Client = Reflect.get(window, 'opened');
      opened[name]();
    }, method);
  return {
    page,
    titles: () =>
      page.evaluate(() => {
        const list: client.LiveQuery<Post> = Reflect.get(window, 'list');
        const posts = list.current.items?.filter(({ body }) => body === 'b') ?? [];
        return posts.map(({ title }) => title).reverse();
      }),
    states: () => page.evaluate((): string[] => Reflect.get(window, 'states')),
    retry: () => call('retry'),
    more: () =>
      page.evaluate(() => {
        const list: client.LiveQuery<Post> = Reflect.get(window, 'list');
        return list.more();
      }),
    close: () => call('close'),
  };
}

/** The service in a process, and a browser in front of an application that uses the package. */
export async function startClientTabs() {
  const dataDir = await migratedFolder();
  const application = await startApplication();
  const PORT = String(await freePort());
  const given = { RATE_LIMIT_BURST: '10000', CORS_ORIGINS: application, PORT };
  const server = await startServer(dataDir, given);
  const key = await demoKey(dataDir);
  // Browsers keep Secure cookies of this name without TLS.
  const api = `http://localhost:${PORT}`;
  const { context, close } = await openBrowser(application, { others: [api], backForwardCache: true });
  onTestFinished(close);
  const streams: Page[] = [];
  const queries: Page[] = [];
  context.on('request', (request) => {
    if (request.method() !== 'POST' || request.url() !== `${api}/graphql`) return;
    (request.postData()?.includes('subscription') ? streams : queries).push(request.frame().page());
  });
  return {
    server,
    dataDir,
    key,
    context,
    /** The pages that asked for a stream, and for a list, one for each request. */
    requests: { streams, queries },
    /** Opens tabs, and returns when each of them says that it is live. */
    async open(count: number, options: TabOptions = {}): Promise<ClientTab[]> {
      const tabs: ClientTab[] = [];
      for (let index = 0; index < count; index += 1)
        tabs.push(await openTab(context, application, `${api}/graphql`, key, options));
      for (const { states } of tabs)
        await expect.poll(async () => (await states()).at(-1)).toMatch(/opened|resumed/);
      return tabs;
    },
    restart: () => startServer(dataDir, given),
    /** The ids of the processes that run the pages. */
    async processes(): Promise<number[]> {
      const devtools = await context.browser()?.newBrowserCDPSession();
      const { processInfo = [] } = (await devtools?.send('SystemInfo.getProcessInfo')) ?? {};
      await devtools?.detach();
      return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
    },
  };
}
