import { ApolloLink, type ErrorLike } from '@apollo/client';
import { OperationTypeNode } from 'graphql';
import { defer, repeat, retry, tap, throwError, timer } from 'rxjs';
import { isTransient, pauseMs } from './retries.ts';

/** The position at which a stream opens, which its response has even if no event follows. */
function openingPosition(operation: ApolloLink.Operation): string | undefined {
  const { response } = operation.getContext();
  return response instanceof Response ? (response.headers.get('x-event-id') ?? undefined) : undefined;
}

function isGap(result: ApolloLink.Result | undefined): boolean {
  return result?.errors?.[0]?.extensions?.code === 'EVENT_HISTORY_EXPIRED';
}

/**
 * Opens a subscription again whenever it breaks off, after the last event that has arrived: none is lost, and none
 * arrives twice. Ends where the service ends it, except after the error EVENT_HISTORY_EXPIRED: it tells of a gap, and
 * the events behind the gap follow.
 */
export class ResumingLink extends ApolloLink {
  override request(
    operation: ApolloLink.Operation,
    forward: ApolloLink.ForwardFunction,
  ): ReturnType<ApolloLink.RequestHandler> {
    if (operation.operationType !== OperationTypeNode.SUBSCRIPTION) return forward(operation);
    return defer(() => {
      let lastEventId: string | undefined;
      let last: ApolloLink.Result | undefined;
      let failures = 0;
      const open = () => {
        last = undefined;
        operation.setContext(({ headers }) => ({
          response: undefined,
          headers: lastEventId === undefined ? headers : { ...headers, 'last-event-id': lastEventId },
        }));
        return forward(operation);
      };
      return defer(open).pipe(
        tap((result) => {
          last = result;
          failures = 0;
          if (typeof result.extensions?.eventId === 'string') lastEventId = result.extensions.eventId;
        }),
        retry({
          delay: (error: ErrorLike) => {
            if (!isTransient(error)) return throwError(() => error);
            const opened = openingPosition(operation);
            lastEventId ??= opened;
            failures = opened === undefined ? failures + 1 : 1;
            return timer(pauseMs(failures, error));
          },
        }),
        repeat({ delay: () => (isGap(last) ? timer(0) : []) }),
      );
    });
  }
}
