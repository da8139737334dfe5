import type { Exchange, Operation, OperationResult } from '@urql/core';
import { makeErrorResult, makeResult } from '@urql/core';
import { filter, make, merge, mergeMap, pipe, type Source, takeUntil } from 'wonka';
import type { Client } from '../client.ts';
import type { ServiceError } from '../errors.ts';
import { findDocument, findErrors, MISSED_EVENTS, readContext } from './operation-context.ts';

export type { ContentGraphContext } from './operation-context.ts';

/** An empty list would be an error to urql. */
const formatErrors = (errors: readonly ServiceError[] = []) => (errors.length > 0 ? { errors } : {});

async function execute(
  client: Client,
  operation: Operation,
  signal: AbortSignal,
  next: (result: OperationResult) => void,
): Promise<void> {
  const { kind, variables } = operation;
  const query = findDocument(operation.query, operation.extensions);
  const { after, onState, onRetry, intent, key, showEventId, onEventId } = readContext(operation.context);
  if (kind === 'subscription') {
    for await (const event of client.subscribe(query, variables, { after, onState, signal })) {
      const extensions = { eventId: event.id };
      next(
        event.type === 'data'
          ? makeResult(operation, {
              data: event.data,
              ...formatErrors(event.errors),
              extensions,
              hasNext: true,
            })
          : makeResult(operation, { data: null, errors: [MISSED_EVENTS], extensions, hasNext: true }),
      );
    }
    return;
  }
  const { data, errors, eventId, replayed } =
    kind === 'mutation'
      ? await client.mutate(query, variables, { signal, onRetry, intent, key })
      : await client.query(query, variables, { signal, onRetry, showEventId, partial: true });
  if (eventId !== undefined) onEventId?.(eventId);
  next(makeResult(operation, { data, ...formatErrors(errors), extensions: { eventId, replayed } }));
}

function createFailure(operation: Operation, error: unknown): OperationResult {
  const errors = findErrors(error, operation.extensions);
  if (errors !== undefined) return makeResult(operation, { data: null, errors });
  return makeErrorResult(operation, error instanceof Error ? error : new Error(String(error)));
}

function createSource(client: Client, operation: Operation): Source<OperationResult> {
  return make<OperationResult>(({ next, complete }) => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const emit = (result: OperationResult) => {
      if (!signal.aborted) next(result);
    };
    execute(client, operation, signal, emit)
      .catch((error: unknown) => emit(createFailure(operation, error)))
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
