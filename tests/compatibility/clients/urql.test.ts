import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { retryExchange } from '@urql/exchange-retry';
import { expect } from 'vitest';
import {
  CREATE,
  CREATED,
  type CreatedPost,
  describeClient,
  type Endpoint,
  NEWEST,
  type PostEvent,
  type Posts,
} from '../support/client-row.ts';
import { createEventIdFetch } from '../support/event-id-fetch.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const RETRY_MS = 50;

function createClient({ url, headers }: Endpoint): Client {
  return new Client({
    url,
    fetchOptions: { headers },
    fetchSubscriptions: true,
    exchanges: [
      cacheExchange({}),
      retryExchange({
        initialDelayMs: RETRY_MS,
        maxDelayMs: RETRY_MS,
        maxNumberAttempts: 1_000,
        retryIf: ({ networkError }) => networkError !== undefined,
      }),
      fetchExchange,
    ],
  });
}

const row = describeClient({
  name: 'urql with Graphcache',
  version: packageVersion('@urql/core'),
  checks: {
    query: WORKS,
    mutation: worksWith('`retryExchange`, and `Idempotency-Key` in `fetchOptions`'),
    subscription: worksWith(
      '`fetchSubscriptions`, `retryExchange`, and a `fetch` that sends `Last-Event-ID` and fails when a stream ends without `complete`',
    ),
  },
  createDriver(endpoint) {
    const client = createClient(endpoint);
    return {
      async newestTitles(limit) {
        const { data, error } = await client.query<Posts>(NEWEST, { limit }).toPromise();
        if (data == null) throw error;
        return data.posts.map(({ title }) => title);
      },
      codeOf: (error) =>
        error instanceof Error && 'graphQLErrors' in error && Array.isArray(error.graphQLErrors)
          ? error.graphQLErrors[0]?.extensions?.code
          : undefined,
      async createPost(title, key) {
        const fetchOptions = { headers: { ...endpoint.headers, 'idempotency-key': key } };
        const { data, error } = await client
          .mutation<CreatedPost>(CREATE, { title }, { fetchOptions })
          .toPromise();
        if (data == null) throw error;
        return data.createPost.id;
      },
      followPosts(onTitle) {
        const { unsubscribe } = client
          .subscription<PostEvent>(CREATED, {}, { fetch: createEventIdFetch() })
          .subscribe(({ data, error }) => onTitle(data?.postCreated.title ?? `error: ${error?.message}`));
        return unsubscribe;
      },
    };
  },
});

row.it('shows the new title in a list that was read before, by the id of the post', async () => {
  const client = createClient(row.endpoint());
  await row.cluster().first.create('before the change');
  const titles: (string | undefined)[] = [];
  const list = client
    .query<Posts>(NEWEST, { limit: 1 })
    .subscribe(({ data }) => void titles.push(data?.posts[0]?.title));
  await expect.poll(() => titles).toEqual(['before the change']);
  const id = client.readQuery<Posts>(NEWEST, { limit: 1 })?.data?.posts[0]?.id;
  const update =
    'mutation Update($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id title } }';
  await client.mutation(update, { id, title: 'after the change' }).toPromise();
  await expect.poll(() => titles.at(-1)).toBe('after the change');
  list.unsubscribe();
});
