import type { Activity } from './activity.ts';
import type { Clock } from './clock.ts';
import type { DocumentRequests } from './document-requests.ts';
import type { SerializedDocument } from './documents.ts';
import { ContentGraphError, type ServiceError } from './errors.ts';
import { linkSignals, reportCallbackError } from './platform.ts';
import { createReconnection, isReconnectable } from './reconnect.ts';
import {
  createResponseError,
  createStreamError,
  type Payload,
  parsePayload,
  readPayload,
} from './responses.ts';
import type { SseBlock } from './sse-parser.ts';
import { readBlocks, SILENCE_MS } from './stream-connection.ts';
import type { StreamState, StreamStates } from './stream-state.ts';

/** Where the position of a stream outlives the process. */
export interface PositionStore {
  load(): string | undefined | Promise<string | undefined>;
  save(id: string): void | Promise<void>;
}

/** Options of a subscription. */
export interface StreamOptions {
  /** Follows from this event id, for example `eventId` of a snapshot. Without it, from now. */
  readonly after?: string | undefined;
  /** Loaded before the first connection. Saved when the loop asks for the next event, so after an event was handled. */
  readonly position?: PositionStore | undefined;
  /** Closes the stream. The iteration then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** The operation to execute, of a document with several. */
  readonly operationName?: string | undefined;
  readonly onState?: ((state: StreamState) => void) | undefined;
  /** A connection without a byte for this time is opened again: 26 s, longer than two heartbeats. */
  readonly silenceMs?: number | undefined;
}

/** What a subscription yields. */
export type StreamEvent<Data> =
  | {
      readonly type: 'data';
      readonly id: string;
      readonly data: Data;
      /** The errors of fields that are null in `data`. */
      readonly errors?: readonly ServiceError[] | undefined;
      /** More about the event, such as the `cost` that `X-Show-Cost` asks for. */
      readonly extensions?: Readonly<Record<string, unknown>> | undefined;
    }
  /** Events are lost. Query again: later events come after `id`. */
  | {
      readonly type: 'missedEvents';
      readonly id: string;
      readonly errors?: readonly ServiceError[] | undefined;
    };

/** Events in order, each of them once. Leaving the loop closes the connection. */
export interface Subscription<Data> extends AsyncIterableIterator<StreamEvent<Data>> {
  readonly state: StreamState;
  /** The id of the last event that was handled. */
  readonly position: string | undefined;
  next(): Promise<IteratorResult<StreamEvent<Data>, undefined>>;
  return(): Promise<IteratorResult<StreamEvent<Data>, undefined>>;
  [Symbol.asyncIterator](): Subscription<Data>;
  /** Shortens the current pause, except one that the service asked for. */
  retry(): void;
  /** Closes the connection. A pending `next` is done. */
  close(): void;
}

/** Opens one connection after a position. The blocks end when the connection is closed. */
export type OpenConnection = (
  position: string | undefined,
  signal: AbortSignal,
  silenceMs: number,
) => AsyncGenerator<SseBlock, void, void>;

/** What streams need of the client. */
export interface StreamContext {
  readonly clock: Clock;
  readonly activity: Activity;
  readonly states: StreamStates;
  /** Aborted when the client is closed. */
  readonly lifetime: AbortSignal;
}

/** How one connection ended, other than by an error. */
type ConnectionEnd = { readonly missedId: string; readonly errors: readonly ServiceError[] } | 'suspended';

/** Creates the connections of a subscription that `fetch` reads. */
export function createFetchConnection(
  requests: DocumentRequests,
  clock: Clock,
  document: SerializedDocument,
  variables: unknown,
): OpenConnection {
  return (position, signal, silenceMs) => {
    const fields: Record<string, string> = { accept: 'text/event-stream' };
    if (position !== undefined) fields['last-event-id'] = position;
    return readBlocks({
      send: (limit) => requests.post(document, variables, fields, limit),
      rejectResponse: async (response) =>
        createResponseError(response, await readPayload(response), clock.nowMs()),
      signal,
      silenceMs,
      clock,
    });
  };
}

export function openSubscription<Data>(
  context: StreamContext,
  openConnection: OpenConnection,
  options: StreamOptions = {},
): Subscription<Data> {
  const { clock, activity, states } = context;
  const { position: store, onState, silenceMs = SILENCE_MS, signal: given } = options;
  const identity = {};
  const link = linkSignals(given, context.lifetime);
  const { signal } = link;
  let position = options.after;
  let state: StreamState = { status: 'idle' };
  let since: 'opened' | 'resumed' | 'missedEvents' = 'opened';
  /** How often events were lost without an event in between. */
  let missedInARow = 0;

  function setState(next: StreamState): void {
    if (state.status === 'closed') return;
    state = next;
    states.set(identity, next);
    try {
      onState?.(next);
    } catch (error) {
      reportCallbackError(error);
    }
  }
  const reconnection = createReconnection(clock, activity, setState);
  const markClosed = () => setState({ status: 'closed' });
  signal.addEventListener('abort', markClosed, { once: true });
  if (signal.aborted) markClosed();

  function close(): void {
    link.abort();
    link.unlink();
  }

  async function savePosition(id: string): Promise<void> {
    if (id === position) return;
    position = id;
    await store?.save(id);
  }

  function markLive(): void {
    reconnection.reset();
    setState({ status: 'live', since });
    activity.wake('reachable');
    since = 'resumed';
  }

  /** Reads one connection to its end. @throws {ContentGraphError} if it failed */
  async function* readConnection(): AsyncGenerator<StreamEvent<Data>, ConnectionEnd, void> {
    const suspension = activity.suspension;
    const connection = linkSignals(signal, suspension);
    let isOpen = false;
    /** A `next` without `data` says why `complete` follows. */
    let verdict: { readonly id: string | undefined; readonly errors: readonly ServiceError[] } | undefined;
    try {
      for await (const { id, event, retry, data } of openConnection(position, connection.signal, silenceMs)) {
        if (retry !== undefined) reconnection.setBase(retry);
        if (event === 'complete') return endStream(verdict);
        const payload: Payload<Data> = event === 'next' ? parsePayload(data ?? '') : {};
        if (event === 'next' && !('data' in payload)) {
          verdict = { id, errors: payload.errors ?? [] };
          continue;
        }
        // Where events are lost, the stream opens at another position, and an error follows.
        if (!isOpen && event !== 'next' && position !== undefined && id !== position) continue;
        if (!isOpen) markLive();
        isOpen = true;
        if (event === 'next') {
          missedInARow = 0;
          yield createEvent(id ?? position ?? '', payload);
        }
        if (id !== undefined) await savePosition(id);
      }
      throw new ContentGraphError('NETWORK_ERROR', 'The event stream ended early.');
    } catch (error) {
      if (suspension.aborted && !signal.aborted) return 'suspended';
      throw error;
    } finally {
      connection.unlink();
    }
  }

  function createEvent(id: string, { data, errors, extensions }: Payload<Data>): StreamEvent<Data> {
    // The event happened, but the service could not read what the document selects.
    if (data == null) return { type: 'missedEvents', id, errors };
    return { type: 'data', id, data, errors, extensions };
  }

  function endStream(
    verdict: { readonly id: string | undefined; readonly errors: readonly ServiceError[] } | undefined,
  ): ConnectionEnd {
    if (verdict === undefined)
      throw new ContentGraphError('UNEXPECTED_RESPONSE', 'The service completed the stream.');
    const error = createStreamError(verdict.errors);
    const isLost = error.code === 'EVENT_HISTORY_EXPIRED' || error.code === 'BAD_USER_INPUT';
    // With an id, the error is about the position, and without one about the subscription.
    if (isLost && verdict.id !== undefined && verdict.id !== 'end')
      return { missedId: verdict.id, errors: verdict.errors };
    throw error;
  }

  async function* run(): AsyncGenerator<StreamEvent<Data>, undefined, void> {
    try {
      setState({ status: 'connecting' });
      position ??= await store?.load();
      if (position !== undefined) since = 'resumed';
      while (!signal.aborted) {
        try {
          const end = yield* readConnection();
          if (end === 'suspended') {
            setState({ status: 'suspended' });
            await activity.waitUntilActive(signal);
            setState({ status: 'connecting' });
            continue;
          }
          yield { type: 'missedEvents', id: end.missedId, errors: end.errors };
          await savePosition(end.missedId);
          since = 'missedEvents';
          missedInARow += 1;
          if (missedInARow === 1) setState({ status: 'connecting' });
          else await reconnection.pause(createStreamError(end.errors), signal);
        } catch (error) {
          if (signal.aborted) break;
          if (!(error instanceof ContentGraphError) || !isReconnectable(error)) throw error;
          await reconnection.pause(error, signal);
        }
      }
      given?.throwIfAborted();
    } catch (error) {
      if (error instanceof ContentGraphError) setState({ status: 'closed', error });
      throw error;
    } finally {
      close();
    }
  }

  const events = run();
  return {
    get state() {
      return state;
    },
    get position() {
      return position;
    },
    next: () => events.next(),
    return() {
      // A pending read would delay the end of the generator.
      close();
      return events.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    retry: () => reconnection.wake(),
    close,
  };
}
