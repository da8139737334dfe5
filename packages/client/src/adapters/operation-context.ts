import type { Client } from '../client.ts';
import type { TypedNode } from '../documents.ts';
import { ContentGraphError, type ServiceError } from '../errors.ts';
import type { Intent } from '../intents.ts';
import type { StreamState } from '../stream-state.ts';

/** What the context of an operation may have, in libraries with a context. */
export interface ContentGraphContext {
  /** The key of a mutation. */
  readonly key?: string | undefined;
  /** The intent of a mutation. */
  readonly intent?: Intent | undefined;
  /** Asks a query for `extensions.eventId`. */
  readonly showEventId?: boolean | undefined;
  /** Asks a query for the event id to follow from, where the library does not return `extensions`. */
  readonly onEventId?: ((eventId: string) => void) | undefined;
  /** Follows from this event id. */
  readonly after?: string | undefined;
  readonly onState?: ((state: StreamState) => void) | undefined;
  readonly onRetry?: ((error: ContentGraphError, retryAtMs: number) => void) | undefined;
}

/** Reads the context of an operation. */
function readContext(context: object): ContentGraphContext {
  const { showEventId, ...options }: ContentGraphContext = { ...context };
  return { ...options, showEventId: showEventId ?? options.onEventId !== undefined };
}

/** The `extensions` of an operation, in which a link or an exchange puts the id of a persisted document. */
export interface OperationExtensions {
  readonly persistedQuery?: { readonly sha256Hash?: string; readonly miss?: boolean } | undefined;
}

/** Replaces a document by its id, if the library sends an id. */
function findDocument<Data, Variables>(
  document: TypedNode<Data, Variables>,
  { persistedQuery }: OperationExtensions,
): TypedNode<Data, Variables> {
  const { kind, definitions, documentId, __meta__ } = document;
  if (persistedQuery?.sha256Hash !== undefined && persistedQuery.miss !== true)
    return { kind, documentId: persistedQuery.sha256Hash };
  // The library may have added names of types, which the id from graphql-codegen does not stand for.
  return __meta__?.hash === undefined ? document : { kind, definitions, documentId };
}

/** What a subscription receives when events are lost. It continues. */
export const MISSED_EVENTS: ServiceError = {
  message: 'Events are lost. Query again.',
  extensions: { code: 'EVENT_HISTORY_EXPIRED' },
};

/** Libraries that send ids recognize an unknown id by this error. They may then send the document. */
const PERSISTED_QUERY_NOT_FOUND: ServiceError = {
  message: 'PersistedQueryNotFound',
  extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' },
};

/** @returns the errors of a response, or undefined if the service did not respond */
function findErrors(
  error: unknown,
  { persistedQuery }: OperationExtensions,
): readonly ServiceError[] | undefined {
  if (!(error instanceof ContentGraphError) || error.errors.length === 0) return undefined;
  return error.code === 'DOCUMENT_NOT_FOUND' && persistedQuery !== undefined
    ? [PERSISTED_QUERY_NOT_FOUND]
    : error.errors;
}

/** An operation as a library passes it to a link or an exchange. */
export interface LibraryOperation<Data, Variables> {
  readonly kind: string;
  readonly document: TypedNode<Data, Variables>;
  readonly variables: Variables;
  readonly context: object;
  readonly extensions?: OperationExtensions | undefined;
}

/** A result as libraries take it. An empty list of errors would be an error to them. */
export interface LibraryResult<Data> {
  readonly data: Data | null;
  readonly errors?: readonly ServiceError[];
  readonly extensions: { readonly eventId?: string | undefined; readonly replayed?: boolean };
}

const createResult = <Data>(
  data: Data | null,
  errors: readonly ServiceError[] = [],
  extensions: LibraryResult<Data>['extensions'] = {},
): LibraryResult<Data> => ({ data, ...(errors.length > 0 && { errors }), extensions });

/**
 * Executes an operation, and passes its results to the library.
 * @throws {ContentGraphError} if the service did not respond
 */
export async function executeOperation<Data, Variables>(
  client: Client,
  operation: LibraryOperation<Data, Variables>,
  signal: AbortSignal,
  next: (result: LibraryResult<Data>) => void,
): Promise<void> {
  const { kind, variables, context, extensions = {} } = operation;
  const document = findDocument(operation.document, extensions);
  const { after, onState, onRetry, intent, key, showEventId, onEventId } = readContext(context);
  try {
    if (kind === 'subscription') {
      for await (const event of client.subscribe(document, variables, { after, onState, signal })) {
        const { id: eventId } = event;
        if (event.type === 'data') next(createResult(event.data, event.errors, { eventId }));
        else next(createResult<Data>(null, [MISSED_EVENTS], { eventId }));
      }
      return;
    }
    const { data, errors, eventId, replayed } =
      kind === 'mutation'
        ? await client.mutate(document, variables, { signal, onRetry, intent, key })
        : await client.query(document, variables, { signal, onRetry, showEventId, partial: true });
    if (eventId !== undefined) onEventId?.(eventId);
    next(createResult(data, errors, { eventId, replayed }));
  } catch (error) {
    const errors = findErrors(error, extensions);
    if (errors === undefined) throw error;
    next(createResult<Data>(null, errors));
  }
}
