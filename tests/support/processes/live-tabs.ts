import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Live, LiveOptions, LiveState, openLive } from '../../../examples/live.ts';
import { openBrowser } from './browser.ts';
import { ROOT, type Settings, temporaryFolder } from './process.ts';
import { demoKey, type ServerProcess, startServer } from './server.ts';

const PAGE =
  '<!doctype html><script type="module">import * as live from "/live.ts"; Object.assign(window, live);</script>';

interface Created {
  readonly postCreated: { readonly title: string };
}

/** The options of `openLive` that can be sent to a page. */
export type TabOptions = Partial<Omit<LiveOptions<Created>, 'headers' | 'onEvent' | 'onState' | 'url'>> & {
  readonly headers?: Record<string, string>;
};

/** A tab that has called `openLive`. */
export interface Tab {
  readonly page: Page;
  /** The titles in the events, or the code of an event without data. */
  titles(): Promise<string[]>;
  states(): Promise<LiveState[]>;
  /** The states without `connecting`, by their status. */
  statuses(): Promise<string[]>;
  retry(): Promise<void>;
  close(): Promise<void>;
}

/** An application on an origin of its own that serves `examples/live.ts` without its types. */
async function startApplication(): Promise<string> {
  const answer = async (path: string) => {
    if (!path.endsWith('.ts')) return { type: 'text/html', text: PAGE };
    const source = await readFile(join(ROOT, 'examples', path), 'utf8');
    return { type: 'text/javascript', text: stripTypeScriptTypes(source) };
  };
  const server = createServer((request, response) => {
    answer(new URL(request.url ?? '/', 'http://localhost').pathname).then(
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
    ({ headers, ...given }) => {
      const titles: string[] = [];
      const states: LiveState[] = [];
      const open: typeof openLive<Created> = Reflect.get(window, 'openLive');
      const live = open({
        query: 'subscription { postCreated { title } }',
        identity: 'reader',
        ...given,
        ...(headers === undefined ? {} : { headers: async () => headers }),
        onEvent: ({ data, errors }) => titles.push(data?.postCreated.title ?? errors?.[0]?.message ?? ''),
        onState: (state) => states.push(state),
      });
      Object.assign(window, { live, titles, states });
    },
    { ...options, url },
  );
  const read = (name: 'titles' | 'states') => page.evaluate((of) => Reflect.get(window, of), name);
  const call = (name: keyof Live) => page.evaluate((method) => Reflect.get(window, 'live')[method](), name);
  const states = (): Promise<LiveState[]> => read('states');
  return {
    page,
    titles: () => read('titles'),
    states,
    statuses: async () =>
      (await states()).map(({ status }) => status).filter((status) => status !== 'connecting'),
    retry: () => call('retry'),
    close: () => call('close'),
  };
}

/** The service in a process with demo data, and a browser in front of an application on another origin. */
export async function startLiveTabs(settings: Settings = {}) {
  const dataDir = await temporaryFolder();
  const application = await startApplication();
  const given = { RATE_LIMIT_BURST: '10000', CORS_ORIGINS: application, ...settings };
  const server = await startServer(dataDir, given);
  const key = await demoKey(dataDir);
  const { port } = new URL(server.origin);
  // Browsers keep Secure cookies of this name without TLS.
  const api = `http://localhost:${port}`;
  const { context, close } = await openBrowser(application, { others: [api], backForwardCache: true });
  onTestFinished(close);
  const askedForStream: Page[] = [];
  context.on('request', (request) => {
    if (request.method() === 'POST' && request.url() === `${api}/graphql`)
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
      for (const { statuses } of tabs) await expect.poll(statuses, { timeout: 120_000 }).toContain('live');
      return tabs;
    },
    /** The pages that have asked for a stream, one for each request. */
    askedForStream,
    restart: () => startServer(dataDir, { ...given, PORT: port }),
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

export async function openStreams({ origin }: ServerProcess): Promise<number> {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(/^event_streams_open (\d+)$/m.exec(text)?.[1]);
}
