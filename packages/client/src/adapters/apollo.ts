import { ApolloLink, Observable } from '@apollo/client';
import type { Client } from '../client.ts';
import {
  findDocument,
  findErrors,
  MISSED_EVENTS,
  type OperationExtensions,
  readContext,
} from './operation-context.ts';

export type { ContentGraphContext } from './operation-context.ts';

type Data = Record<string, unknown>;

/** The extensions that `PersistedQueryLink` wants in place of the document. */
function findExtensions(operation: ApolloLink.Operation): OperationExtensions {
  const { http } = operation.getContext();
  return http?.includeQuery === false ? operation.extensions : {};
}

async function execute(
  client: Client,
  operation: ApolloLink.Operation,
  signal: AbortSignal,
  next: (result: ApolloLink.Result) => void,
): Promise<void> {
  const { variables, operationType } = operation;
  const query = findDocument<Data, object>(operation.query, findExtensions(operation));
  const { after, onState, onRetry, intent, key, showEventId, onEventId } = readContext(
    operation.getContext(),
  );
  if (operationType === 'subscription') {
    for await (const { id: eventId, ...event } of client.subscribe(query, variables, {
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
      ? await client.mutate(query, variables, { signal, onRetry, intent, key })
      : await client.query(query, variables, { signal, onRetry, showEventId, partial: true });
  if (eventId !== undefined) onEventId?.(eventId);
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
            const errors = findErrors(error, findExtensions(operation));
            if (errors === undefined) return observer.error(error);
            observer.next({ data: null, errors });
            observer.complete();
          },
        );
        return () => leaving.abort();
      }),
  );
}
