import { createClient, type RequestParams } from 'graphql-sse';
import {
  type CacheConfig,
  commitMutation,
  type Disposable,
  Environment,
  type FetchFunction,
  type GraphQLResponse,
  type IEnvironment,
  type MutationConfig,
  type MutationParameters,
  Network,
  Observable,
  RecordSource,
  type RequestParameters,
  Store,
  type SubscribeFunction,
  type Variables,
} from 'relay-runtime';
import { resumingFetch } from '../../resuming-fetch.ts';
import { retryingFetch, TaskKey } from '../../retry.ts';

/** With `persistConfig`, the compiler leaves an id in the place of a text. */
function textOrId(id: string | null | undefined, text: string | null | undefined) {
  return id == null ? { query: text ?? '' } : { documentId: id };
}

/**
 * For a query and for the subscription that follows it: the stream begins after the last event that the answer shows, so
 * that nothing is missed between the two. One name for both, and for the query the same object at each render.
 */
export const followed = (name: string): CacheConfig => ({ force: true, metadata: { followed: name } });

/** For `useMutation` in a form: what is sent again has the same `Idempotency-Key`, until a response has `data`. */
export function createKeyedCommit<Mutation extends MutationParameters>() {
  const cacheConfig: CacheConfig = { force: true, metadata: { taskKey: new TaskKey() } };
  return (environment: IEnvironment, config: MutationConfig<Mutation>): Disposable =>
    commitMutation(environment, { ...config, cacheConfig });
}

/** The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createEnvironment(url: string, headers: Readonly<Record<string, string>> = {}): Environment {
  /** Where the queries were answered that are followed, by the names of `followed`. */
  const positions = new Map<unknown, string>();

  /** What streams tell while something is read, for each read: its answer may be older. */
  const late = new Set<(() => void)[]>();

  async function send(
    { id, text, name, operationKind }: RequestParameters,
    variables: Variables,
    { metadata: { followed, taskKey } = {} }: CacheConfig,
  ): Promise<GraphQLResponse> {
    // Without `createKeyedCommit`, each mutation has a key of its own, the same for all attempts.
    const idempotencyKey = taskKey instanceof TaskKey ? taskKey : new TaskKey();
    const fetchOnce = operationKind === 'mutation' ? retryingFetch({ idempotencyKey }) : fetch;
    const response = await fetchOnce(url, {
      method: 'POST',
      credentials: 'include',
      headers: {
        ...headers,
        ...(followed === undefined ? {} : { 'x-show-event-id': '1' }),
        'content-type': 'application/json',
      },
      body: JSON.stringify({ ...textOrId(id, text), variables, operationName: name }),
    });
    const answer = await response.json();
    if (answer.extensions?.eventId !== undefined) positions.set(followed, answer.extensions.eventId);
    return answer;
  }

  const request: FetchFunction = (operation, variables, cacheConfig) =>
    Observable.create<GraphQLResponse>((sink) => {
      const told: (() => void)[] = [];
      // A mutation that is repeated may be answered long after what was told first.
      if (operation.operationKind === 'query') late.add(told);
      send(operation, variables, cacheConfig)
        .finally(() => late.delete(told))
        .then((answer) => {
          sink.next(answer);
          for (const tellAgain of told) tellAgain();
          sink.complete();
        })
        .catch((error: Error) => sink.error(error));
      return () => void late.delete(told);
    });

  const subscribe: SubscribeFunction = ({ id, text, name }, variables, { metadata }) =>
    Observable.create<GraphQLResponse>((sink) => {
      const position = positions.get(metadata?.followed);
      const events = createClient({
        url,
        headers: { ...headers, ...(position === undefined ? {} : { 'last-event-id': position }) },
        credentials: 'include',
        // The stream resumes by itself: Relay notices nothing.
        fetchFn: resumingFetch,
      });
      return events.subscribe({ ...textOrId(id, text), operationName: name, variables } as RequestParams, {
        next: (result) => {
          // The events after the position may be gone: the next stream begins now, and the list is read after it.
          if (result.errors !== undefined) positions.delete(metadata?.followed);
          const tell = () => sink.next(result as GraphQLResponse);
          for (const told of late) told.push(tell);
          tell();
        },
        error: (error) => sink.error(error instanceof Error ? error : new Error(String(error))),
        complete: () => sink.complete(),
      });
    });

  return new Environment({
    network: Network.create(request, subscribe),
    store: new Store(new RecordSource()),
  });
}
