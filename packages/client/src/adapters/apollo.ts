import { ApolloLink, Observable } from '@apollo/client';
import type { Client } from '../client.ts';
import { executeOperation, type LibraryOperation } from './operation-context.ts';

export type { ContentGraphContext } from './operation-context.ts';

type Data = Record<string, unknown>;

function readOperation(operation: ApolloLink.Operation): LibraryOperation<Data, object> {
  const { operationType: kind, query: document, variables, extensions } = operation;
  const context = operation.getContext();
  // `PersistedQueryLink` wants its extensions in place of the document.
  const isReplaced = context.http?.includeQuery === false;
  return { kind, document, variables, context, extensions: isReplaced ? extensions : {} };
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
        const { signal } = leaving;
        executeOperation(client, readOperation(operation), signal, (result) => observer.next(result)).then(
          () => observer.complete(),
          (error: unknown) => {
            if (!signal.aborted) observer.error(error);
          },
        );
        return () => leaving.abort();
      }),
  );
}
