import { setTimeout as delay } from 'node:timers/promises';
import { Client, fetchExchange } from '@urql/core';
import { createClient } from 'graphql-sse';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';
import { resumingFetch } from '../support/streams/resuming-fetch.ts';

const QUERY = 'subscription { postCreated { title } }';

interface Titles {
  readonly data?: { readonly postCreated: { readonly title: string } } | null;
}

/** What a client library has received so far, and how many streams it has opened. */
interface Received {
  readonly titles: string[];
  opened: number;
}

/** Counts the streams that a client opens: only then is it subscribed. */
function counted(fetcher: typeof fetch, received: Received): typeof fetch {
  return async (input, init) => {
    const response = await fetcher(input, init);
    if (response.ok) received.opened += 1;
    return response;
  };
}

function withGraphqlSse(url: string, key: string): Received {
  const received: Received = { titles: [], opened: 0 };
  const client = createClient({
    url,
    fetchFn: counted(resumingFetch(), received),
    headers: { authorization: `Bearer ${key}` },
    retryAttempts: 1_000,
    retry: () => delay(50),
  });
  const stop = client.subscribe<NonNullable<Titles['data']>>(
    { query: QUERY },
    {
      next: ({ data }) => void received.titles.push(data?.postCreated.title ?? 'an error'),
      error: (error) => void received.titles.push(String(error)),
      complete: () => undefined,
    },
  );
  onTestFinished(() => {
    stop();
    client.dispose();
  });
  return received;
}

function withUrql(url: string, key: string): Received {
  const received: Received = { titles: [], opened: 0 };
  const client = new Client({
    url,
    preferGetMethod: false,
    exchanges: [fetchExchange],
    fetchSubscriptions: true,
    fetch: counted(resumingFetch(), received),
    fetchOptions: { headers: { authorization: `Bearer ${key}` } },
  });
  let subscription = { unsubscribe: () => {} };
  let stopped = false;
  // urql does not come back by itself when a stream breaks: the application subscribes again.
  const open = () => {
    subscription = client
      .subscription<NonNullable<Titles['data']>>(QUERY, {})
      .subscribe(({ data, error }) => {
        if (data != null) received.titles.push(data.postCreated.title);
        if (error?.networkError === undefined || stopped) return;
        subscription.unsubscribe();
        setTimeout(open, 50);
      });
  };
  open();
  onTestFinished(() => {
    stopped = true;
    subscription.unsubscribe();
  });
  return received;
}

async function createPosts(server: ServerProcess, key: string, titles: readonly string[]): Promise<void> {
  for (const title of titles) {
    const { errors } = await server.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
      { key, variables: { title } },
    );
    expect(errors).toBeUndefined();
  }
}

describe.each([
  ['graphql-sse', withGraphqlSse],
  ['urql with fetch subscriptions', withUrql],
])('%s', (_name, subscribe) => {
  it('receives each post, and resumes without loss over a server that is killed', async () => {
    const dataDir = await temporaryFolder();
    const server = await startServer(dataDir, { RATE_LIMIT_BURST: '10000' });
    const { port } = new URL(server.origin);
    const key = await demoKey(dataDir);
    const received = subscribe(`${server.origin}/graphql`, key);
    await until('the stream', () => received.opened === 1);
    await createPosts(server, key, ['one', 'two']);
    await until('two posts', () => received.titles.length >= 2);
    expect(received.titles).toEqual(['one', 'two']);

    server.kill('SIGKILL');
    await server.exited;
    const again = await startServer(dataDir, { PORT: port, RATE_LIMIT_BURST: '10000' });
    await createPosts(again, key, ['three', 'four', 'five']);
    await until('five posts', () => received.titles.length >= 5);
    expect(received.titles).toEqual(['one', 'two', 'three', 'four', 'five']);
  });
});
