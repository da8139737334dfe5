import type { Exchange, Operation, OperationResult } from '@urql/core';
import { makeErrorResult, makeResult } from '@urql/core';
import { filter, make, merge, mergeMap, pipe, type Source, takeUntil } from 'wonka';
import type { Client } from '../client.ts';
import { executeOperation } from './operation-context.ts';

export type { ContentGraphContext } from './operation-context.ts';

function createSource(client: Client, operation: Operation): Source<OperationResult> {
  return make<OperationResult>(({ next, complete }) => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const emit = (result: OperationResult) => {
      if (!signal.aborted) next(result);
    };
    const { kind, query: document, variables, context, extensions } = operation;
    executeOperation(client, { kind, document, variables, context, extensions }, signal, (result) =>
      emit(makeResult(operation, result)),
    )
      .catch((error: unknown) =>
        emit(makeErrorResult(operation, error instanceof Error ? error : new Error(String(error)))),
      )
      .finally(() => complete());
    return () => leaving.abort();
  });
}

/**
 * Creates the exchange that sends, in place of `fetchExchange`. The context of an operation takes the options of
 * `ContentGraphContext`. After missed events, a subscription gets a result with the error `EVENT_HISTORY_EXPIRED` and
 * continues.
 */
export function contentGraphExchange(client: Client): Exchange {
  return ({ forward }) =>
    (operations) => {
      const isTeardown = ({ kind }: Operation) => kind === 'teardown';
      const results = pipe(
        operations,
        filter((operation) => !isTeardown(operation)),
        mergeMap((operation) =>
          pipe(
            createSource(client, operation),
            takeUntil(
              pipe(
                operations,
                filter((other) => isTeardown(other) && other.key === operation.key),
              ),
            ),
          ),
        ),
      );
      return merge([results, pipe(operations, filter(isTeardown), forward)]);
    };
}
