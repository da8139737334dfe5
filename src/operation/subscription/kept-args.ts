import { bytesInMemory } from '../../platform/memory-budget.ts';
import { PlainRequest } from '../../request/http-message.ts';
import { lastEventId } from '../../request/stream-parameters.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { EventsAfter, OperationArgs } from '../operation-context.ts';

/** The arguments of an open subscription, with its text in place of its document, and without its request. */
export interface KeptArgs {
  /** An estimate of their memory. */
  readonly bytes: number;
  /** Rebuilds the arguments: document and plans are prepared anew, and the request is an empty one. */
  again(): OperationArgs;
}

/** Nothing reads the request once its subscription is open. */
const NO_REQUEST = new PlainRequest('GET', 'about:blank', {}, new Uint8Array());

/**
 * Keeps what an execution needs for as long as a subscription is open. A document takes a hundred times the memory of
 * its text, and thousands of subscriptions may be open. `events` opens the events after an id.
 */
export function keepArgs(documents: Pick<DocumentCache, 'parse'>, events: EventsAfter) {
  // A closure keeps every object that it names alive, so `again` must not name the arguments themselves.
  return ({ schema, contextValue, variableValues }: OperationArgs): KeptArgs => {
    const { operation, request: arrived, requestId, origin, caller, state, added } = contextValue;
    const { db, lookAhead, maxResponseBytes, onPath, trace } = contextValue;
    const kept = { requestId, origin, caller, state, added, db, lookAhead, maxResponseBytes };
    const context = { ...kept, onPath, trace, unitOfWork: undefined, onPasswordChanged: undefined };
    const { name } = operation;
    const { text } = operation.document;
    const lastId = lastEventId(arrived);
    const variables = { ...variableValues };
    return {
      bytes: bytesInMemory(text) + bytesInMemory(variables) + bytesInMemory(lastId),
      again() {
        const prepared = documents.parse(text).operation(name);
        const made = { operation: prepared, plans: prepared.plans, request: NO_REQUEST };
        const contextValue = { ...context.added, ...context, ...made, events: () => events(lastId) };
        return {
          schema,
          document: prepared.document.node,
          operationName: name ?? null,
          variableValues: variables,
          contextValue,
        };
      },
    };
  };
}
