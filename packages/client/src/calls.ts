import type { Activity } from './activity.ts';
import type { Attempts } from './attempts.ts';
import type { Clock } from './clock.ts';
import { type Document, formatBody, type SerializedDocument, serializeDocument } from './documents.ts';
import { ContentGraphError, type ServiceError, withUnknownOutcome } from './errors.ts';
import { createEtagCache } from './etag-cache.ts';
import { type Intent, type KeyedRequest, StoredIntent } from './intents.ts';
import { createRandomKey } from './platform.ts';
import { createResponseError, readPayload } from './responses.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { RequestFields, Transport } from './transport.ts';

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each pause, with the error of the attempt and the time of the next attempt. */
  readonly onRetry?: ((error: ContentGraphError, retryAtMs: number) => void) | undefined;
}

/** Options of a query. */
export interface QueryOptions extends CallOptions {
  /** Asks for `eventId`: a subscription after it brings every change that the result does not show. */
  readonly showEventId?: boolean | undefined;
  /** Returns `errors` together with `data`. Without it, any error is thrown. */
  readonly partial?: boolean | undefined;
}

/** Options of a mutation. Without `key` and `intent`, each call is a separate task. */
export interface MutateOptions extends CallOptions {
  /** The idempotency key, for a task that outlives the process. */
  readonly key?: string | undefined;
  /** The intent, for a task of a person. */
  readonly intent?: Intent | undefined;
}

/** The result of an executed operation. */
export interface OperationResult<Data> {
  readonly data: Data;
  /** The errors of fields that are null in `data`. */
  readonly errors: readonly ServiceError[];
  /** The position to follow from, if `showEventId` asked for it. */
  readonly eventId: string | undefined;
  /** True if an earlier attempt executed the mutation. */
  readonly replayed: boolean;
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
}

/** What calls need of the client. */
export interface CallContext {
  readonly transport: Transport;
  readonly attempts: Attempts;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly policy: RetryPolicy;
}

/** The calls of a client. */
export interface Calls {
  query<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: QueryOptions,
  ): Promise<OperationResult<Data>>;
  mutate<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: MutateOptions,
  ): Promise<OperationResult<Data>>;
}

/** Longer URLs are rejected by some proxies. */
const MAX_URL_LENGTH = 4_000;

type SendRequest = (signal: AbortSignal) => Promise<Response>;

export function createCalls(context: CallContext): Calls {
  const { transport, attempts, clock, activity, policy } = context;
  const etags = createEtagCache();
  /** Ids that the service turned out not to have. */
  const unknownIds = new Set<string>();

  /** Sends a request once. @throws {ContentGraphError} if there is no usable data */
  const attempt = <Data>(sendRequest: SendRequest, signal: AbortSignal): Promise<OperationResult<Data>> =>
    attempts.run(signal, async (limit) => {
      const response = await sendRequest(limit);
      const payload = await readPayload<Data>(response);
      if (payload.data == null) throw createResponseError(response, payload, clock.nowMs());
      activity.wake('reachable');
      return {
        data: payload.data,
        errors: payload.errors ?? [],
        eventId: payload.extensions?.eventId,
        replayed: response.headers.get('idempotency-replayed') === 'true',
        requestId: response.headers.get('x-request-id') ?? undefined,
      };
    });

  /** Sends an id by GET, so that an unchanged result is not sent again. @returns undefined if the id is unknown */
  async function sendId(
    { documentId, query }: SerializedDocument,
    variables: unknown,
    fields: RequestFields,
    signal: AbortSignal,
  ): Promise<Response | undefined> {
    if (documentId === undefined || unknownIds.has(documentId)) return undefined;
    const parameters = new URLSearchParams({ documentId, variables: JSON.stringify(variables) });
    const url = `${transport.url}${transport.url.includes('?') ? '&' : '?'}${parameters}`;
    if (url.length > MAX_URL_LENGTH) return undefined;
    const response = await transport.get(url, { ...etags.getFields(url), ...fields }, signal);
    if (response.status === 404 && query !== undefined) {
      unknownIds.add(documentId);
      return undefined;
    }
    return etags.complete(url, response);
  }

  const formatKnown = (document: SerializedDocument, variables: unknown) => {
    const { documentId, query } = document;
    const isUnknown = documentId !== undefined && query !== undefined && unknownIds.has(documentId);
    return formatBody(isUnknown ? { documentId: undefined, query } : document, variables);
  };

  /** Posts a body, and then the query string if the service does not have the id. */
  async function postDocument(
    body: string,
    fallback: () => string | undefined,
    fields: RequestFields,
    signal: AbortSignal,
  ): Promise<Response> {
    const response = await transport.post(body, fields, signal);
    const text = response.status === 404 ? fallback() : undefined;
    return text === undefined ? response : transport.post(text, fields, signal);
  }

  /** Sends a mutation once with its key, and tells the intent what became of it. */
  async function attemptKeyed<Data>(
    request: KeyedRequest,
    fallback: () => string | undefined,
    intent: StoredIntent | undefined,
    signal: AbortSignal,
  ): Promise<OperationResult<Data>> {
    const { key, body } = request;
    intent?.begin(request);
    try {
      const fields = { 'idempotency-key': `"${key}"` };
      const result = await attempt<Data>((limit) => postDocument(body, fallback, fields, limit), signal);
      intent?.settle(request);
      return result;
    } catch (error) {
      const failure = error instanceof ContentGraphError ? error : undefined;
      // A server error with `data` is not stored: the next attempt executes the mutation.
      if (failure?.wasExecuted === true && !failure.isRetryable) intent?.settle(request);
      else intent?.fail(request, failure?.isOutcomeUnknown !== false);
      throw error;
    }
  }

  async function mutate<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    { key, intent, ...options }: MutateOptions = {},
  ): Promise<OperationResult<Data>> {
    if (intent !== undefined && !(intent instanceof StoredIntent))
      throw new TypeError('An intent must come from client.intent().');
    options.signal?.throwIfAborted();
    const source = serializeDocument(document);
    const body = formatKnown(source, variables);
    const request = (await intent?.prepare(variables, body)) ?? { key: key ?? createRandomKey(), body };
    /** The service takes a document by its id and the same document as a query string for one operation. */
    const fallback = () => {
      const { documentId, query } = source;
      if (documentId === undefined || query === undefined || request.body !== body) return undefined;
      unknownIds.add(documentId);
      return formatKnown(source, variables);
    };
    let wasUnknown = intent?.isOpen === true;
    try {
      return await attempts.repeat(
        (signal) =>
          attemptKeyed<Data>(request, fallback, intent, signal).catch((error: unknown) => {
            if (error instanceof ContentGraphError) wasUnknown ||= error.isOutcomeUnknown;
            throw error;
          }),
        policy.mutationBudgetMs,
        options,
      );
    } catch (error) {
      const isMisleading =
        error instanceof ContentGraphError && wasUnknown && !error.isOutcomeUnknown && !error.wasExecuted;
      throw isMisleading ? withUnknownOutcome(error) : error;
    }
  }

  async function query<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    { showEventId = false, partial = false, ...options }: QueryOptions = {},
  ): Promise<OperationResult<Data>> {
    const source = serializeDocument(document);
    const fields: RequestFields = showEventId ? { 'x-show-event-id': '1' } : {};
    const sendRequest: SendRequest = async (signal) =>
      (await sendId(source, variables, fields, signal)) ??
      transport.post(formatKnown(source, variables), fields, signal);
    const result = await attempts.repeat(
      (signal) => attempt<Data>(sendRequest, signal),
      policy.queryBudgetMs,
      options,
    );
    const [first] = result.errors;
    if (first === undefined || partial) return result;
    throw new ContentGraphError(first.extensions?.code ?? 'INTERNAL_SERVER_ERROR', first.message, {
      errors: result.errors,
      requestId: result.requestId,
      httpStatus: 200,
      wasExecuted: true,
    });
  }

  return { query, mutate };
}
