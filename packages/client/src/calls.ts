import type { Activity } from './activity.ts';
import type { Attempts } from './attempts.ts';
import type { Clock } from './clock.ts';
import type { DocumentRequests } from './document-requests.ts';
import { type Document, serializeDocument } from './documents.ts';
import { ContentGraphError, type ServiceError, withUnknownOutcome } from './errors.ts';
import { type Intent, StoredIntent } from './intents.ts';
import { createRandomKey } from './platform.ts';
import { createResponseError, readPayload } from './responses.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { RequestFields } from './transport.ts';

/** Options of every call. */
export interface CallOptions {
  /** The operation to execute, of a document with several. */
  readonly operationName?: string | undefined;
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
  readonly requests: DocumentRequests;
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

export function createCalls(context: CallContext): Calls {
  const { requests, attempts, clock, activity, policy } = context;

  /** Sends a request once. @throws {ContentGraphError} if there is no usable data */
  const attempt = <Data>(
    sendRequest: (limit: AbortSignal) => Promise<Response>,
    signal: AbortSignal,
  ): Promise<OperationResult<Data>> =>
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

  async function mutate<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    { key, intent, ...options }: MutateOptions = {},
  ): Promise<OperationResult<Data>> {
    if (intent !== undefined && !(intent instanceof StoredIntent))
      throw new TypeError('An intent must come from client.intent().');
    options.signal?.throwIfAborted();
    const source = serializeDocument(document, options.operationName);
    const body = requests.format(source, variables);
    const request = (await intent?.prepare(variables, body)) ?? { key: key ?? createRandomKey(), body };
    const fields = { 'idempotency-key': `"${request.key}"` };
    let wasUnknown = intent?.isOpen === true;

    /** Sends the mutation once, and tells the intent what became of it. */
    const attemptKeyed = async (signal: AbortSignal): Promise<OperationResult<Data>> => {
      intent?.begin(request);
      try {
        const result = await attempt<Data>(
          (limit) => requests.post(source, variables, fields, limit, request.body),
          signal,
        );
        intent?.settle(request);
        return result;
      } catch (error) {
        const failure = error instanceof ContentGraphError ? error : undefined;
        // A server error with `data` is not stored: the next attempt executes the mutation.
        if (failure?.wasExecuted === true && !failure.isRetryable) intent?.settle(request);
        else intent?.fail(request, failure?.isOutcomeUnknown !== false);
        wasUnknown ||= failure?.isOutcomeUnknown === true;
        throw error;
      }
    };

    try {
      return await attempts.repeat(attemptKeyed, policy.mutationBudgetMs, options);
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
    const source = serializeDocument(document, options.operationName);
    const fields: RequestFields = showEventId ? { 'x-show-event-id': '1' } : {};
    const result = await attempts.repeat(
      (signal) => attempt<Data>((limit) => requests.get(source, variables, fields, limit), signal),
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
