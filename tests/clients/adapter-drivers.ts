import { ApolloClient, gql as apolloGql, InMemoryCache } from '@apollo/client';
import { Client as UrqlClient } from '@urql/core';
import { parse } from 'graphql';
import type { RequestParameters } from 'relay-runtime';
import { contentGraphLink } from '../../packages/client/src/adapters/apollo.ts';
import { createRelayNetwork } from '../../packages/client/src/adapters/relay.ts';
import { contentGraphExchange } from '../../packages/client/src/adapters/urql.ts';
import type { Client, Intent } from '../../packages/client/src/index.ts';

export const QUERY = 'query Titles { titles }';
export const MUTATION = 'mutation Create($title: String!) { create(title: $title) }';
export const SUBSCRIPTION = 'subscription Ticks { tick }';

/** What arrives from a stream: an event, or the code of an error. */
export type Arrival = number | string;

/** One way of using the client: by itself, or through a library. */
export interface Driver {
  /** Resolves to `titles`, or rejects. */
  query(): Promise<unknown>;
  /** Resolves to `create`, or rejects. */
  mutate(title: string, intent: Intent): Promise<unknown>;
  /** Follows the stream after an event id. @returns a function that leaves it */
  follow(after: string | undefined, onArrival: (arrival: Arrival) => void): () => void;
}

interface Tick {
  readonly tick: number;
}

const codeOf = (extensions: object | undefined): string =>
  String(extensions !== undefined && 'code' in extensions ? extensions.code : undefined);

export function driveClient(client: Client): Driver {
  return {
    query: async () => (await client.query<{ titles: unknown }, object>(QUERY, {})).data.titles,
    mutate: async (title, intent) =>
      (await client.mutate<{ create: unknown }, object>(MUTATION, { title }, { intent })).data.create,
    follow(after, onArrival) {
      const stream = client.subscribe<Tick, object>(SUBSCRIPTION, {}, { after });
      void (async () => {
        for await (const event of stream)
          onArrival(event.type === 'data' ? event.data.tick : 'EVENT_HISTORY_EXPIRED');
      })().catch((error: { code: string }) => onArrival(error.code));
      return () => stream.close();
    },
  };
}

export function driveUrql(client: Client): Driver {
  const urql = new UrqlClient({ url: 'http://unused', exchanges: [contentGraphExchange(client)] });
  const unwrap = <Data>({ data, error }: { data?: Data; error?: Error }): Data => {
    if (error !== undefined || data === undefined) throw error;
    return data;
  };
  return {
    query: async () => unwrap(await urql.query<{ titles: unknown }>(QUERY, {}).toPromise()).titles,
    mutate: async (title, intent) =>
      unwrap(await urql.mutation<{ create: unknown }>(MUTATION, { title }, { intent }).toPromise()).create,
    follow(after, onArrival) {
      const { unsubscribe } = urql
        .subscription<Tick>(SUBSCRIPTION, {}, { after })
        .subscribe(({ data, error }) => {
          if (error !== undefined) onArrival(codeOf(error.graphQLErrors[0]?.extensions));
          else if (data !== undefined) onArrival(data.tick);
        });
      return unsubscribe;
    },
  };
}

export function driveApollo(client: Client): Driver {
  const apollo = new ApolloClient({ cache: new InMemoryCache(), link: contentGraphLink(client) });
  return {
    query: async () =>
      (await apollo.query<{ titles: unknown }>({ query: apolloGql(QUERY), fetchPolicy: 'network-only' })).data
        ?.titles,
    mutate: async (title, intent) =>
      (
        await apollo.mutate<{ create: unknown }>({
          mutation: apolloGql(MUTATION),
          variables: { title },
          context: { intent },
        })
      ).data?.create,
    follow(after, onArrival) {
      const subscription = apollo
        .subscribe<Tick>({ query: parse(SUBSCRIPTION), context: { after } })
        .subscribe(({ data, error }) => {
          if (error !== undefined)
            onArrival(
              'errors' in error && Array.isArray(error.errors)
                ? codeOf(error.errors[0].extensions)
                : error.name,
            );
          else if (data != null) onArrival(data.tick);
        });
      return () => subscription.unsubscribe();
    },
  };
}

export function driveRelay(client: Client): Driver {
  const { network, keyed, followed } = createRelayNetwork(client);
  const describe = (text: string, operationKind: RequestParameters['operationKind']): RequestParameters => ({
    id: null,
    text,
    name: 'Test',
    operationKind,
    metadata: {},
    cacheID: text,
  });
  const execute = async (
    text: string,
    kind: RequestParameters['operationKind'],
    variables: object,
    config: object,
  ) => {
    const response = await network
      .execute(describe(text, kind), { ...variables }, { force: true, ...config })
      .toPromise();
    return response !== undefined && 'data' in response ? response.data : undefined;
  };
  return {
    query: async () => (await execute(QUERY, 'query', {}, {}))?.titles,
    mutate: async (title, intent) => (await execute(MUTATION, 'mutation', { title }, keyed(intent)))?.create,
    follow(_after, onArrival) {
      const { unsubscribe } = network
        .execute(describe(SUBSCRIPTION, 'subscription'), {}, followed('ticks'))
        .subscribe({
          next: (response) => {
            if ('data' in response) onArrival(response.data?.tick);
          },
          error: (error: Error) => onArrival('code' in error ? String(error.code) : error.name),
        });
      return unsubscribe;
    },
  };
}
