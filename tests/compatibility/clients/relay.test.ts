import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'graphql-sse';
import {
  commitMutation,
  Environment,
  type FetchFunction,
  fetchQuery,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
  type SubscribeFunction,
} from 'relay-runtime';
import { repeat } from '../support/attempts.ts';
import { describeClient, type Endpoint } from '../support/client-row.ts';
import { createEventIdFetch } from '../support/event-id-fetch.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';
import createdSubscription, {
  type operationsCreatedSubscription,
} from './relay/__generated__/operationsCreatedSubscription.graphql.ts';
import createMutation, {
  type operationsCreateMutation,
} from './relay/__generated__/operationsCreateMutation.graphql.ts';
import newestQuery, {
  type operationsNewestQuery,
} from './relay/__generated__/operationsNewestQuery.graphql.ts';

const RETRY_MS = 50;

/** Relay leaves requests to the application. */
function createEnvironment({ url, headers }: Endpoint): Environment {
  const request: FetchFunction = async ({ text, operationKind }, variables, { metadata }) => {
    const key = metadata?.idempotencyKey;
    const send = () =>
      fetch(url, {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(typeof key === 'string' ? { 'idempotency-key': key } : {}),
        },
        body: JSON.stringify({ query: text, variables }),
      });
    const response = await (operationKind === 'mutation' ? repeat(send) : send());
    return (await response.json()) as GraphQLResponse;
  };
  const subscribe: SubscribeFunction = ({ text }, variables) =>
    Observable.create<GraphQLResponse>((sink) => {
      const events = createClient({
        url,
        headers,
        fetchFn: createEventIdFetch(),
        retryAttempts: 1_000,
        retry: () => delay(RETRY_MS),
      });
      return events.subscribe(
        { query: text ?? '', variables },
        {
          next: (result) => sink.next(result as GraphQLResponse),
          error: (error) => sink.error(error instanceof Error ? error : new Error(String(error))),
          complete: () => sink.complete(),
        },
      );
    });
  return new Environment({
    network: Network.create(request, subscribe),
    store: new Store(new RecordSource()),
  });
}

describeClient({
  name: 'Relay',
  version: packageVersion('relay-runtime'),
  checks: {
    query: worksWith('a `FetchFunction`, as in every application'),
    mutation: worksWith(
      'a `FetchFunction` that retries with the `Idempotency-Key` of `cacheConfig.metadata`',
    ),
    subscription: worksWith('a `SubscribeFunction` with the settings of graphql-sse'),
  },
  createDriver(endpoint) {
    const environment = createEnvironment(endpoint);
    return {
      async newestTitles(limit) {
        const query = fetchQuery<operationsNewestQuery>(environment, newestQuery, { limit });
        return (await query.toPromise())?.posts.map(({ title }) => title) ?? [];
      },
      codeOf: (error) =>
        error instanceof Error && 'source' in error
          ? (error.source as GraphQLResponse & { errors: { extensions: { code: string } }[] }).errors[0]
              ?.extensions.code
          : undefined,
      createPost: (title, idempotencyKey) =>
        new Promise((resolve, reject) => {
          commitMutation<operationsCreateMutation>(environment, {
            mutation: createMutation,
            variables: { title },
            cacheConfig: { force: true, metadata: { idempotencyKey } },
            onCompleted: ({ createPost }) => resolve(createPost.id),
            onError: reject,
          });
        }),
      followPosts(onTitle) {
        const { dispose } = requestSubscription<operationsCreatedSubscription>(environment, {
          subscription: createdSubscription,
          variables: {},
          onNext: (response) => onTitle(response?.postCreated.title ?? 'nothing'),
          onError: (error) => onTitle(`error: ${error.message}`),
          onCompleted: () => onTitle('complete'),
        });
        return dispose;
      },
    };
  },
});
