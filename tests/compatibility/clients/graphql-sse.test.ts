import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient } from 'graphql-sse';
import { expect } from 'vitest';
import {
  CREATE,
  CREATED,
  type CreatedPost,
  describeClient,
  NEWEST,
  type PostEvent,
  type Posts,
} from '../support/client-row.ts';
import { createEventIdFetch } from '../support/event-id-fetch.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const RETRY_MS = 50;
const retries = { retryAttempts: 1_000, retry: () => delay(RETRY_MS) };

class RejectedOperation extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The result of a query or a mutation. */
async function runOnce<Data>(
  client: Client,
  query: string,
  variables: Record<string, unknown>,
): Promise<Data> {
  for await (const { data, errors } of client.iterate<Data>({ query, variables })) {
    if (errors !== undefined || data == null)
      throw new RejectedOperation(String(errors?.[0]?.extensions?.code));
    return data;
  }
  throw new Error('the stream completed without a result');
}

const row = describeClient({
  name: 'graphql-sse',
  version: packageVersion('graphql-sse'),
  checks: {
    query: WORKS,
    mutation: worksWith('`Idempotency-Key` in `headers`, so a client for each mutation'),
    subscription: worksWith(
      '`retryAttempts` (default 5), and a `fetchFn` that sends the last id as `Last-Event-ID`',
    ),
  },
  createDriver({ url, headers }) {
    const client = createClient({ url, headers });
    return {
      newestTitles: async (limit) =>
        (await runOnce<Posts>(client, NEWEST, { limit })).posts.map(({ title }) => title),
      codeOf: (error) => (error instanceof RejectedOperation ? error.code : undefined),
      async createPost(title, key) {
        const keyed = createClient({ url, headers: { ...headers, 'idempotency-key': key }, ...retries });
        return (await runOnce<CreatedPost>(keyed, CREATE, { title })).createPost.id;
      },
      followPosts(onTitle) {
        const resuming = createClient({ url, headers, fetchFn: createEventIdFetch(), ...retries });
        return resuming.subscribe<PostEvent>(
          { query: CREATED },
          {
            next: ({ data }) => void (data && onTitle(data.postCreated.title)),
            error: (error) => onTitle(`error: ${error}`),
            complete: () => onTitle('complete'),
          },
        );
      },
    };
  },
});

row.it('shows why a subscription is invalid', async () => {
  const client = createClient(row.endpoint());
  const rejected = runOnce(client, 'subscription { unknown }', {});
  await expect(rejected).rejects.toMatchObject({ code: 'GRAPHQL_VALIDATION_FAILED' });
});
