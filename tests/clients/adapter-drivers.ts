import { ApolloClient, gql as apolloGql, InMemoryCache } from '@apollo/client';
import { Client as UrqlClient } from '@urql/core';
import { EventSource } from 'eventsource';
import { parse } from 'graphql';
import type { RequestParameters } from 'relay-runtime';
import { contentGraphLink } from '../../packages/client/src/adapters/apollo.ts';
import { followByEventSource } from '../../packages/client/src/adapters/event-source.ts';
import {
  createFollowConfig,
  createIntentConfig,
  createRelayNetwork,
} from '../../packages/client/src/adapters/relay.ts';
import { contentGraphExchange } from '../../packages/client/src/adapters/urql.ts';
import type { Client, Subscription } from '../../packages/client/src/index.ts';
import { json, type StubReply } from '../support/client/service-stub.ts';

/** The documents of a driver. Their fields have the names `titles`, `create` and `tick`. */
export interface Documents {
  readonly query: string;
  readonly mutation: string;
  readonly subscription: string;
}

/** For the stub, which returns scalars. */
export const STUB: Documents = {
  query: 'query Titles { titles }',
  mutation: 'mutation Create($title: String!) { create(title: $title) }',
  subscription: 'subscription Ticks { tick }',
};

/** For the service. */
export const SERVICE: Documents = {
  query: 'query Titles { titles: posts(limit: 1) { title } }',
  mutation: 'mutation Create($title: String!) { create: createPost(title: $title, body: "b") { title } }',
  subscription: 'subscription Ticks { tick: postCreated { title } }',
};

/** What arrives from a stream: an event, or the code of an error. */
export type Arrival = number | string;

/** One way of using the client: by itself, or through a library. */
export interface Driver {
  /** Resolves to `titles`, or rejects. */
  query(): Promise<unknown>;
  /** Resolves to `create`, or rejects. `name` is the name of the intent. */
  mutate(title: string, name: string): Promise<unknown>;
  /** Follows the stream after an event id. @returns a function that leaves it */
  follow(after: string | undefined, onArrival: (arrival: Arrival) => void): () => void;
  /** What the stub replies to before the first connection of the stream. */
  readonly beforeStream?: readonly StubReply[];
  /** What the stub replies to before each connection of the stream. */
  readonly beforeConnection?: readonly StubReply[];
}

export type CreateDriver = (client: Client, documents?: Documents) => Driver;

export interface Tick {
  /** A post of the service, or a number of the stub. */
  readonly tick: number | { readonly title: string };
}

export const arrivalOf = ({ tick }: Tick): Arrival => (typeof tick === 'object' ? tick.title : tick);

const codeOf = (extensions: object | undefined): string =>
  String(extensions !== undefined && 'code' in extensions ? extensions.code : undefined);

function followLoop(stream: Subscription<Tick>, onArrival: (arrival: Arrival) => void): () => void {
  void (async () => {
    for await (const event of stream)
      onArrival(event.type === 'data' ? arrivalOf(event.data) : 'EVENT_HISTORY_EXPIRED');
  })().catch((error: { code: string }) => onArrival(error.code));
  return () => stream.close();
}

export function driveClient(client: Client, documents: Documents = STUB): Driver {
  return {
    query: async () => (await client.query<{ titles: unknown }, object>(documents.query, {})).data.titles,
    async mutate(title, name) {
      const options = { intent: client.intent(name) };
      const variables = { title };
      return (await client.mutate<{ create: unknown }, object>(documents.mutation, variables, options)).data
        .create;
    },
    follow: (after, onArrival) =>
      followLoop(client.subscribe<Tick, object>(documents.subscription, {}, { after }), onArrival),
  };
}

/** An `EventSource` has streams alone. A stream token precedes each connection. */
export function driveEventSource(client: Client, documents: Documents = STUB): Driver {
  return {
    ...driveClient(client, documents),
    beforeConnection: [json({ token: 'token' })],
    follow: (after, onArrival) =>
      followLoop(
        followByEventSource<Tick, object>(
          client,
          documents.subscription,
          {},
          { by: 'token', after, EventSource },
        ),
        onArrival,
      ),
  };
}

export function driveUrql(client: Client, documents: Documents = STUB): Driver {
  const urql = new UrqlClient({ url: 'http://unused', exchanges: [contentGraphExchange(client)] });
  const unwrap = <Data>({ data, error }: { data?: Data; error?: Error }): Data => {
    if (error !== undefined || data === undefined) throw error;
    return data;
  };
  return {
    query: async () => unwrap(await urql.query<{ titles: unknown }>(documents.query, {}).toPromise()).titles,
    async mutate(title, name) {
      const context = { intent: client.intent(name) };
      const { mutation } = documents;
      return unwrap(await urql.mutation<{ create: unknown }>(mutation, { title }, context).toPromise())
        .create;
    },
    follow(after, onArrival) {
      const { unsubscribe } = urql
        .subscription<Tick>(documents.subscription, {}, { after })
        .subscribe(({ data, error }) => {
          if (error !== undefined) onArrival(codeOf(error.graphQLErrors[0]?.extensions));
          else if (data !== undefined) onArrival(arrivalOf(data));
        });
      return unsubscribe;
    },
  };
}

export function driveApollo(client: Client, documents: Documents = STUB): Driver {
  const apollo = new ApolloClient({ cache: new InMemoryCache(), link: contentGraphLink(client) });
  return {
    query: async () =>
      (
        await apollo.query<{ titles: unknown }>({
          query: apolloGql(documents.query),
          fetchPolicy: 'network-only',
        })
      ).data?.titles,
    mutate: async (title, name) =>
      (
        await apollo.mutate<{ create: unknown }>({
          mutation: apolloGql(documents.mutation),
          variables: { title },
          context: { intent: client.intent(name) },
        })
      ).data?.create,
    follow(after, onArrival) {
      const subscription = apollo
        .subscribe<Tick>({ query: parse(documents.subscription), context: { after } })
        .subscribe(({ data, error }) => {
          if (error !== undefined)
            onArrival(
              'errors' in error && Array.isArray(error.errors)
                ? codeOf(error.errors[0].extensions)
                : error.name,
            );
          else if (data != null) onArrival(arrivalOf(data));
        });
      return () => subscription.unsubscribe();
    },
  };
}

export function driveRelay(client: Client, documents: Documents = STUB): Driver {
  const network = createRelayNetwork(client);
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
    query: async () => (await execute(documents.query, 'query', {}, {}))?.titles,
    async mutate(title, name) {
      const config = createIntentConfig(client.intent(name));
      return (await execute(documents.mutation, 'mutation', { title }, config))?.create;
    },
    follow(_after, onArrival) {
      const { unsubscribe } = network
        .execute(describe(documents.subscription, 'subscription'), {}, createFollowConfig('ticks'))
        .subscribe({
          next: (response) => {
            if ('data' in response) onArrival(arrivalOf({ tick: response.data?.tick }));
          },
          error: (error: Error) => onArrival('code' in error ? String(error.code) : error.name),
        });
      return unsubscribe;
    },
  };
}
