import { createSourceEventStream, type ExecutionResult } from 'graphql';
import type { FeedEvent, FeedStart, PostFeed } from '../../events/feed.ts';
import { ApiError, type ErrorCode, unauthenticated } from '../../graphql/errors.ts';
import { publicError } from '../../graphql/mask-error.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import { accountOf, clientOf } from '../../request/caller.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { type ConcurrencyLimiter, limitedBy } from '../concurrency-limiter.ts';
import type { Executor } from '../executor.ts';
import type { OperationArgs } from '../operation-context.ts';
import {
  errorsOf,
  executed,
  type Outcome,
  refused,
  type Single,
  type StreamEvent,
  StreamInterruption,
} from '../outcome.ts';
import type { StreamExpiry } from './stream-expiry.ts';
import type { StreamLimit } from './stream-limit.ts';
import type { StreamMetrics } from './stream-metrics.ts';

/** What a subscription's source yields: the event, and what its resolver needs. */
interface SourceEvent {
  readonly delivery: FeedEvent;
  /** The same event with current data; undefined if its subject is gone. */
  refresh(): Promise<SourceEvent | undefined>;
}

/** Errors that an execution may meet if something is deleted between its statements. */
const MAY_BE_GONE: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'INTERNAL_SERVER_ERROR']);
/** Transient errors: the database is lost, or the account's other responses leave no room. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED']);
/** How often an event is executed again because of that. */
const MAX_REFRESHES = 3;

/** Starts the subscription of a request. Throws the refusal. */
export type Subscriber = (args: OperationArgs) => Promise<Outcome>;

export interface SubscriberOptions {
  readonly executor: Executor;
  readonly eventLimiter: ConcurrencyLimiter;
  readonly streams: StreamLimit;
  readonly metrics: StreamMetrics;
  readonly openLease: StreamExpiry;
  /** Aborted on shutdown. */
  readonly shutdown: AbortSignal;
  readonly log: Logger;
}

/**
 * The id of the last event that the client has seen. The header wins: EventSource keeps a stale id in its
 * URL.
 */
function lastEventId({ url, headers }: HttpRequest): string | undefined {
  return headers.get('last-event-id') || new URL(url).searchParams.get('lastEventId') || undefined;
}

/** Opens the feed where the client left off, and records the start for the stream. */
export async function openEvents(
  feed: PostFeed,
  request: HttpRequest,
  state: RequestState,
  shutdown: AbortSignal,
): Promise<AsyncIterable<readonly FeedEvent[]>> {
  const start = await feed.open(lastEventId(request));
  state.eventStart = start;
  return feed.follow(start, AbortSignal.any([state.stop.signal, shutdown]));
}

function startError(failure: NonNullable<FeedStart['failure']>): ApiError {
  return failure === 'malformed'
    ? new ApiError('BAD_USER_INPUT', 'The last event id was not issued by this service.', {
        argument: 'lastEventId',
      })
    : new ApiError(
        'EVENT_HISTORY_EXPIRED',
        'The events after that id are no longer kept: read the posts again and continue from here.',
      );
}

function isAsyncIterable(value: ExecutionResult | AsyncIterable<unknown>): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value;
}

/** Ends a stream with its request. If the client leaves before the stream starts, nothing else ends it. */
function endWith({ gone, stop }: RequestState): void {
  if (gone?.aborted) stop.abort();
  else gone?.addEventListener('abort', () => stop.abort(), { once: true });
}

/**
 * Opens subscriptions: within the stream limits, resumed from the last event, with one execution per event.
 */
export function createSubscriber({
  executor,
  eventLimiter,
  streams,
  metrics,
  openLease,
  shutdown,
  log,
}: SubscriberOptions): Subscriber {
  const wait = limitedBy(eventLimiter);

  /** The same arguments for the source of the events, whose database reads are queued by the limiter. */
  function sourceArgs(args: OperationArgs): OperationArgs {
    const { db } = args.contextValue;
    const waiting: Queryable = { query: (statement, values) => wait(() => db.query(statement, values)) };
    return { ...args, contextValue: { ...args.contextValue, db: waiting } };
  }

  /**
   * The outcome of an event. Its execution takes several statements, and others may delete in between what it
   * reads; it is then repeated on the current post. Undefined if the post is gone: there is no event then.
   */
  async function outcomeOf(args: OperationArgs, event: SourceEvent): Promise<Single | undefined> {
    let outcome = await executor.runEvent(args, event);
    let current: SourceEvent | undefined = event;
    for (let left = MAX_REFRESHES; left > 0; left -= 1) {
      if (!errorsOf(outcome).some((error) => MAY_BE_GONE.has(publicError(error).code))) break;
      current = await current.refresh();
      if (current === undefined) return undefined;
      outcome = await executor.runEvent(args, current);
    }
    return outcome;
  }

  /** The next event with something to send; done once the source has ended. */
  async function nextOf(
    source: AsyncIterator<SourceEvent>,
    args: OperationArgs,
  ): Promise<IteratorResult<StreamEvent, undefined>> {
    for (;;) {
      const next = await source.next();
      if (next.done) return { done: true, value: undefined };
      const outcome = await outcomeOf(args, next.value);
      if (outcome === undefined) continue;
      // A transient error breaks the stream off, and the client gets this event when it reconnects. A bug
      // would recur every time: its event is sent as an error, and later ones still arrive.
      const passing = errorsOf(outcome).find((error) => PASSING.has(publicError(error).code));
      if (passing !== undefined) throw new Error(`an event could not be executed: ${passing.message}`);
      const { event, eventId, replayed } = next.value.delivery;
      metrics.sent(event.createdAt, replayed);
      return { done: false, value: { id: eventId, outcome } };
    }
  }

  /** The events of a stream while the credentials of its caller are valid. */
  async function* follow(
    source: AsyncIterator<SourceEvent>,
    args: OperationArgs,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const { requestId, state } = args.contextValue;
    const lease = openLease(state);
    try {
      for (;;) {
        const next = await lease.during(() => nextOf(source, args));
        if (next === undefined) {
          const error = unauthenticated('The credentials behind this stream have expired or been revoked.');
          yield { id: undefined, outcome: refused(error, { requestId, log }) };
          return;
        }
        if (next.done) break;
        yield next.value;
      }
    } catch (error) {
      log.warn({ requestId, err: error }, 'an event stream broke off');
      throw new StreamInterruption('failure', error);
    } finally {
      lease.end();
      // It may still be waiting for an event. The stream's own signal ends it, so nobody needs to wait for
      // that.
      source.return?.().catch((error: unknown) => log.debug({ err: error }, 'a closed stream failed'));
    }
    if (shutdown.aborted) throw new StreamInterruption('shutdown');
  }

  /** For an id that cannot be resumed from: one event with the error and the current id, then the end. */
  async function* refuseStart(
    { eventId }: FeedStart,
    failure: NonNullable<FeedStart['failure']>,
    requestId: string,
  ): AsyncGenerator<StreamEvent, void, undefined> {
    yield { id: eventId, outcome: refused(startError(failure), { requestId, log }) };
  }

  return async (args) => {
    const { state, requestId } = args.contextValue;
    const close = await streams.open({
      client: clientOf(state),
      account: accountOf(state),
      connection: state.connection,
    });
    state.stop.signal.addEventListener('abort', close, { once: true });
    endWith(state);
    const source = await createSourceEventStream(sourceArgs(args)).catch((error: unknown) => {
      close();
      throw error;
    });
    if (!isAsyncIterable(source)) {
      close();
      return executed(source, { requestId, log });
    }
    const start = state.eventStart;
    if (start === undefined) {
      close();
      throw new Error('the subscription did not ask for its events');
    }
    const events =
      start.failure === undefined
        ? follow((source as AsyncIterable<SourceEvent>)[Symbol.asyncIterator](), args)
        : refuseStart(start, start.failure, requestId);
    return { kind: 'stream', startId: start.eventId, events };
  };
}
