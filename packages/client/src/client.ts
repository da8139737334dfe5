import { createActivity } from './activity.ts';
import { createAttempts } from './attempts.ts';
import {
  type CallOptions,
  createCalls,
  type MutateOptions,
  type OperationResult,
  type QueryOptions,
} from './calls.ts';
import { type Clock, systemClock } from './clock.ts';
import { createDocumentRequests } from './document-requests.ts';
import { type Document, serializeDocument } from './documents.ts';
import { type Intent, type IntentOptions, StoredIntent } from './intents.ts';
import { registerInternals } from './internals.ts';
import { findSessionStorage, type IntentStorage } from './platform.ts';
import { createRetryPolicy, type RetryPolicy } from './retry-policy.ts';
import { createSession, type Session } from './session.ts';
import type { Store } from './store.ts';
import { createStreamStates, type StreamState } from './stream-state.ts';
import {
  createFetchConnection,
  openSubscription,
  type StreamOptions,
  type Subscription,
} from './subscription.ts';
import { createTransport, type TransportOptions } from './transport.ts';

/** Options of a client. */
export interface ClientOptions extends TransportOptions {
  /** The id of the account. Only with it, tabs share a stream and intents survive a reload. */
  readonly identity?: string | undefined;
  /** Where intents are stored: `sessionStorage` by default. Null keeps them in memory. */
  readonly storage?: IntentStorage | null | undefined;
  /** How long requests are repeated. */
  readonly retry?: Partial<RetryPolicy> | undefined;
}

/** The result of a query and the position to follow it from, as plain JSON for a rendered page. */
export interface Snapshot<Data> {
  readonly data: Data;
  /** A subscription after this event brings every change that `data` does not show. */
  readonly eventId: string;
  /** The account for which the page was rendered. */
  readonly identity: string | undefined;
}

/** A client for one account. */
export interface Client {
  /**
   * Executes a query and repeats what may succeed later. The id of a persisted document is sent by GET, and an unchanged
   * result is not sent again.
   * @throws {ContentGraphError} on any error, unless `partial` is true
   */
  query<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: QueryOptions,
  ): Promise<OperationResult<Data>>;
  /**
   * Executes a mutation once for each key, and repeats it for up to 120 s.
   * @throws {ContentGraphError} `isOutcomeUnknown` is true if the mutation may have been committed
   */
  mutate<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: MutateOptions,
  ): Promise<OperationResult<Data>>;
  /** Follows a subscription across disconnects, restarts and sleep. Each event comes once and in order. */
  subscribe<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: StreamOptions,
  ): Subscription<Data>;
  /** Finds or creates the intent with a name. Give each form a name. */
  intent(name: string, options?: IntentOptions): Intent;
  /** Executes a query for a page that shows the result and then follows it. */
  snapshot<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options?: CallOptions,
  ): Promise<Snapshot<Data>>;
  /** The worst state of all streams, for a banner. */
  readonly state: Store<StreamState>;
  /** Signing in and out with the session cookie. */
  readonly session: Session;
  /** The id of the account, from the options. */
  readonly identity: string | undefined;
  /** Shortens all pauses, except those that the service asked for. Call it after signing in. */
  retry(): void;
  /** Closes all streams and aborts all calls. Call it before another account signs in. */
  close(): void;
}

/** Creates a client with another clock, for tests. */
export function createClientWithClock(options: ClientOptions, clock: Clock): Client {
  const { identity, storage, retry } = options;
  const closing = new AbortController();
  const lifetime = closing.signal;
  const transport = createTransport(options);
  const requests = createDocumentRequests(transport);
  const activity = createActivity(clock);
  const states = createStreamStates();
  const policy = createRetryPolicy(retry);
  const attempts = createAttempts({ clock, activity, policy, lifetime });
  const { query, mutate } = createCalls({ requests, attempts, clock, activity, policy });
  const streams = { clock, activity, states, lifetime };
  const intents = new Map<string, Intent>();
  const stored = identity === undefined || storage === null ? undefined : (storage ?? findSessionStorage());

  const client: Client = {
    query,
    mutate,
    subscribe: (document, variables, streamOptions) =>
      openSubscription(
        streams,
        createFetchConnection(
          requests,
          clock,
          serializeDocument(document, streamOptions?.operationName),
          variables,
        ),
        streamOptions,
      ),
    intent(name, intentOptions) {
      const known = intents.get(name);
      if (known !== undefined) return known;
      const intent = new StoredIntent(`content-graph:${identity}:${name}`, stored, clock, intentOptions);
      intents.set(name, intent);
      return intent;
    },
    async snapshot(document, variables, callOptions) {
      const { data, eventId = '' } = await query(document, variables, { ...callOptions, showEventId: true });
      return { data, eventId, identity };
    },
    state: states.worst,
    session: createSession({ transport, attempts, activity, clock, policy }),
    identity,
    retry: () => activity.retry(),
    close() {
      closing.abort();
      activity.close();
    },
  };
  registerInternals(client, { ...streams, transport, attempts, policy });
  return client;
}

/** Creates a client for one account. Close it when another account signs in. */
export function createClient(options: ClientOptions): Client {
  return createClientWithClock(options, systemClock);
}
