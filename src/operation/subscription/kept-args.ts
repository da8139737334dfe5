import { bytesInMemory } from '../../platform/owned-bytes.ts';
import { PlainRequest } from '../../request/http-message.ts';
import { lastEventId } from '../../request/last-event-id.ts';
import type { DocumentCache } from '../document-cache.ts';
import type { EventsAfter, OperationArgs } from '../operation-context.ts';

/** The arguments of an open subscription: its text instead of its document, and none of its request. */
export interface KeptArgs {
  /** What they take, about. */
  readonly bytes: number;
  /** The arguments as they were, but for the documents and plans, which are made again, and the request. */
  again(): OperationArgs;
}

/** Nothing of a request is asked for once its subscription is open. */
const NO_REQUEST = new PlainRequest('GET', 'about:blank', {}, new Uint8Array());

/**
 * Keeps of a subscription what an execution needs, for as long as it is open. A document takes a hundred times the
 * memory of its text, and thousands may be open. `events` opens the events after an id.
 */
export function keepArgs(documents: Pick<DocumentCache, 'parse'>, events: EventsAfter) {
  // What `again` does not name must not be part of what it does: closures keep whole objects.
  return ({ document: _document, contextValue, variableValues, ...args }: OperationArgs): KeptArgs => {
    const { operation, plans: _plans, request: arrived, events: _events, ...others } = contextValue;
    const context = { ...others, provisional: undefined };
    const { name } = operation;
    const { text } = operation.document;
    const lastId = lastEventId(arrived);
    const variables = { ...variableValues };
    return {
      bytes: bytesInMemory(text) + bytesInMemory(variables) + bytesInMemory(lastId),
      again() {
        const prepared = documents.parse(text).operation(name);
        const made = { operation: prepared, plans: prepared.plans, request: NO_REQUEST };
        const contextValue = { ...context, ...made, events: () => events(lastId) };
        return { ...args, document: prepared.document.node, variableValues: variables, contextValue };
      },
    };
  };
}
