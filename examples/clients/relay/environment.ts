import { createClient, type RequestParams } from 'graphql-sse';
import {
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

/** The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createEnvironment(url: string, headers: Readonly<Record<string, string>> = {}): Environment {
  const request: FetchFunction = async ({ id, text, name, operationKind }, variables) => {
    // One key for each mutation, the same for all attempts.
    const send = operationKind === 'mutation' ? retryingFetch() : fetch;
    const response = await send(url, {
      method: 'POST',
      credentials: 'include',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ...textOrId(id, text), variables, operationName: name }),
    });
    return (await response.json()) as GraphQLResponse;
  };

  // The stream resumes by itself: Relay notices nothing.
  const events = createClient({ url, headers, credentials: 'include', fetchFn: resumingFetch });
  const subscribe: SubscribeFunction = ({ id, text, name }, variables) =>
    Observable.create<GraphQLResponse>((sink) =>
      events.subscribe({ ...textOrId(id, text), operationName: name, variables } as RequestParams, {
        next: (result) => sink.next(result as GraphQLResponse),
        error: (error) => sink.error(error instanceof Error ? error : new Error(String(error))),
        complete: () => sink.complete(),
      }),
    );

  return new Environment({
    network: Network.create(request, subscribe),
    store: new Store(new RecordSource()),
  });
}
