import { createHash } from 'node:crypto';
import {
  ApolloClient,
  ApolloLink,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
} from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { RetryLink } from '@apollo/client/link/retry';
import { tap } from 'rxjs';
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
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const RETRY_MS = 50;

/** Sends a request again for as long as there is no response. */
const retries = new RetryLink({
  delay: { initial: RETRY_MS, jitter: false, max: RETRY_MS },
  attempts: { max: 1_000 },
});

/** Sends the id of the last event when `retries` opens a subscription again. */
const resume = new ApolloLink((operation, forward) =>
  forward(operation).pipe(
    tap(({ extensions }) => {
      if (typeof extensions?.eventId !== 'string') return;
      const lastEventId = extensions.eventId;
      operation.setContext(({ headers }) => ({ headers: { ...headers, 'last-event-id': lastEventId } }));
    }),
  ),
);

const createClient = ({ url, headers }: Endpoint) =>
  new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.from([retries, resume, new HttpLink({ uri: url, headers })]),
  });

const row = describeClient({
  name: 'Apollo Client',
  version: packageVersion('@apollo/client'),
  checks: {
    query: WORKS,
    mutation: worksWith('`RetryLink`, and `Idempotency-Key` in `context.headers`'),
    subscription: worksWith(
      '`RetryLink`, and a link that sends the last `extensions.eventId` as `Last-Event-ID`',
    ),
  },
  createDriver(endpoint) {
    const client = createClient(endpoint);
    return {
      async newestTitles(limit) {
        const { data } = await client.query<Posts>({
          query: gql(NEWEST),
          variables: { limit },
          fetchPolicy: 'network-only',
        });
        return data?.posts.map(({ title }) => title) ?? [];
      },
      codeOf: (error) =>
        CombinedGraphQLErrors.is(error) ? String(error.errors[0]?.extensions?.code) : undefined,
      async createPost(title, key) {
        const { data } = await client.mutate<CreatedPost>({
          mutation: gql(CREATE),
          variables: { title },
          context: { headers: { 'idempotency-key': key } },
        });
        return data?.createPost.id ?? '';
      },
      followPosts(onTitle) {
        const subscription = client.subscribe<PostEvent>({ query: gql(CREATED) }).subscribe({
          next: ({ data, error }) => onTitle(data?.postCreated.title ?? `error: ${error}`),
          error: (error) => onTitle(`error: ${error}`),
          complete: () => onTitle('complete'),
        });
        return () => subscription.unsubscribe();
      },
    };
  },
});

row.it('stops to send hashes of queries, which the service does not register', async () => {
  const { url, headers } = row.endpoint();
  let requests = 0;
  const counted: typeof fetch = (input, init) => {
    requests += 1;
    return fetch(input, init);
  };
  const sha256 = (query: string) => createHash('sha256').update(query).digest('hex');
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.from([
      new PersistedQueryLink({ sha256 }),
      new HttpLink({ uri: url, headers, fetch: counted }),
    ]),
  });
  for (const limit of [1, 2]) await client.query({ query: gql(NEWEST), variables: { limit } });
  expect(requests).toBe(3);
});
