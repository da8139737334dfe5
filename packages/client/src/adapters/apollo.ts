import { ApolloLink, Observable } from '@apollo/client';
import type { Client } from '../client.ts';
import { ContentGraphError } from '../errors.ts';
import { MISSED_EVENTS, readContext } from './operation-context.ts';

export type { ContentGraphContext } from './operation-context.ts';

type Data = Record<string, unknown>;

async function execute(
  client: Client,
  operation: ApolloLink.Operation,
  signal: AbortSignal,
  next: (result: ApolloLink.Result) => void,
): Promise<void> {
  const { query, variables, operationType } = operation;
  const { after, onState, onRetry, intent, key, showEventId } = readContext(operation.getContext());
  if (operationType === 'subscription') {
    for await (const { id: eventId, ...event } of client.subscribe<Data, object>(query, variables, {
      after,
      onState,
      signal,
    })) {
      const extensions = { eventId };
      if (event.type === 'missedEvents') next({ errors: [MISSED_EVENTS], extensions });
      else next({ data: event.data, ...(event.errors && { errors: event.errors }), extensions });
    }
    return;
  }
  const { data, errors, eventId, replayed } =
    operationType === 'mutation'
      ? await client.mutate<Data, object>(query, variables, { signal, onRetry, intent, key })
      : await client.query<Data, object>(query, variables, { signal, onRetry, showEventId, partial: true });
  next({ data, ...(errors.length > 0 && { errors }), extensions: { eventId, replayed } });
}

/**
 * Creates the terminating link, in place of `HttpLink` and `RetryLink`. The context of an operation takes the options of
 * `ContentGraphContext`. After missed events, a subscription gets a result with the error `EVENT_HISTORY_EXPIRED` and
 * continues.
 */
export function contentGraphLink(client: Client): ApolloLink {
  return new ApolloLink(
    (operation) =>
      new Observable<ApolloLink.Result>((observer) => {
        const leaving = new AbortController();
        execute(client, operation, leaving.signal, (result) => observer.next(result)).then(
          () => observer.complete(),
          (error: unknown) => {
            if (leaving.signal.aborted) return;
            if (!(error instanceof ContentGraphError) || error.errors.length === 0)
              return observer.error(error);
            observer.next({ data: null, errors: error.errors });
            observer.complete();
          },
        );
        return () => leaving.abort();
      }),
  );
}
