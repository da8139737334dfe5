import { createClient, type RequestParams } from 'graphql-sse';
import {
  type CacheConfig,
  Environment,
  type FetchFunction,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  Store,
  type SubscribeFunction,
} from 'relay-runtime';
import { resumingFetch } from '../../resuming-fetch.ts';
import { retryingFetch } from '../../retry.ts';

/** With `persistConfig`, the compiler leaves an id in the place of a text. */
function textOrId(id: string | null | undefined, text: string | null | undefined) {
  return id == null ? { query: text ?? '' } : { documentId: id };
}

/**
 * For a query and for the subscription that follows it: the stream begins after the last event that the answer shows, so
 * that nothing is missed between the two. One name for both, and for the query the same object at each render.
 */
export const followed = (name: string): CacheConfig => ({ force: true, metadata: { followed: name } });

/** The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createEnvironment(url: string, headers: Readonly<Record<string, string>> = {}): Environment {
  /** Where the queries were answered that are followed, by the names of `followed`. */
  const positions = new Map<unknown, string>();

  const request: FetchFunction = async (
    { id, text, name, operationKind },
    variables,
    { metadata: { followed } = {} },
  ) => {
    // One key for each mutation, the same for all attempts.
    const send = operationKind === 'mutation' ? retryingFetch() : fetch;
    const response = await send(url, {
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
    return answer as GraphQLResponse;
  };

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
          sink.next(result as GraphQLResponse);
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
