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

/** What a subscription's source yields: the event, and whatever its resolver needs of it. */
interface SourceEvent {
  readonly delivery: FeedEvent;
  /** The same event as it is now; undefined where what it is about is gone. */
  refresh(): Promise<SourceEvent | undefined>;
}

/** What an execution can come to where something was deleted between two of its statements. */
const MAY_BE_GONE: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'INTERNAL_SERVER_ERROR']);
/** What an execution can come to that passes: a lost database, or no room beside the other answers to the account. */
const PASSING: ReadonlySet<ErrorCode> = new Set(['SERVICE_UNAVAILABLE', 'TIMEOUT', 'RATE_LIMITED']);
/** So often an event is executed anew because of that. */
const MAX_REFRESHES = 3;

/** Begins the subscription of a request. Throws what refuses it. */
export type Subscriber = (args: OperationArgs) => Promise<Outcome>;

export interface SubscriberOptions {
  readonly executor: Executor;
  readonly eventLimiter: ConcurrencyLimiter;
  readonly streams: StreamLimit;
  readonly metrics: StreamMetrics;
  readonly openLease: StreamExpiry;
  /** Aborted when the service goes down. */
  readonly shutdown: AbortSignal;
  readonly log: Logger;
}

/** The id of the last event that the client has seen. The header wins: EventSource keeps a stale one in its URL. */
function lastEventId({ url, headers }: HttpRequest): string | undefined {
  return headers.get('last-event-id') || new URL(url).searchParams.get('lastEventId') || undefined;
}

/** Opens the feed for a request, from where the client left off, and notes the start for the stream. */
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
    ? new ApiError('BAD_USER_INPUT', 'The last event id is none of this service.', {
        argument: 'lastEventId',
      })
    : new ApiError(
        'EVENT_HISTORY_EXPIRED',
        'The events after that id are not kept any more: read the posts anew and go on from here.',
      );
}

function isAsyncIterable(value: ExecutionResult | AsyncIterable<unknown>): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value;
}

/** Ends a stream with its request: a client that goes away before the stream has begun leaves nobody else to end it. */
function endWith({ gone, stop }: RequestState): void {
  if (gone?.aborted) stop.abort();
  else gone?.addEventListener('abort', () => stop.abort(), { once: true });
}

/** Opens subscriptions: within the client's number of streams, from its last event, one execution an event. */
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

  /** The same arguments for the source of the events: what it reads from the database waits its turn. */
  function sourceArgs(args: OperationArgs): OperationArgs {
    const { db } = args.contextValue;
    const waiting: Queryable = { query: (statement, values) => wait(() => db.query(statement, values)) };
    return { ...args, contextValue: { ...args.contextValue, db: waiting } };
  }

  /**
   * What an event comes to. An execution is several statements, between which others delete what it reads: then it is
   * done again on the post as it is now. Undefined where the post is gone: then there is no event.
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

  /** The next event that there is something to send of; done where the source has ended. */
  async function nextOf(
    source: AsyncIterator<SourceEvent>,
    args: OperationArgs,
  ): Promise<IteratorResult<StreamEvent, undefined>> {
    for (;;) {
      const next = await source.next();
      if (next.done) return { done: true, value: undefined };
      const outcome = await outcomeOf(args, next.value);
      if (outcome === undefined) continue;
      // The stream breaks off, and the client gets this event when it comes back. A bug would meet it again and again:
      // that event goes out as an error, and those after it still arrive.
      const passing = errorsOf(outcome).find((error) => PASSING.has(publicError(error).code));
      if (passing !== undefined) throw new Error(`an event could not be executed: ${passing.message}`);
      const { event, eventId, replayed } = next.value.delivery;
      metrics.sent(event.createdAt, replayed);
      return { done: false, value: { id: eventId, outcome } };
    }
  }

  /** The events of a stream for as long as its caller's credentials hold. */
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
      // It may still wait for an event: it ends with the stream's own signal, and nobody needs to wait for that.
      source.return?.().catch((error: unknown) => log.debug({ err: error }, 'a closed stream failed'));
    }
    if (shutdown.aborted) throw new StreamInterruption('shutdown');
  }

  /** An id that cannot be gone on from: one event that says so, with the id of now, and the end. */
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
