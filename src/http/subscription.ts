import { createSourceEventStream, type ExecutionArgs, type ExecutionResult } from 'graphql';
import type { FeedEvent, FeedStart, PostFeed } from '../events/feed.ts';
import { ApiError, type ErrorCode } from '../graphql/errors.ts';
import { publicError } from '../graphql/mask-error.ts';
import type { Queryable } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import { type Gate, inTurn } from './gate.ts';
import { maskResult, refusedResult } from './masked-result.ts';
import type { OperationContext } from './request-state.ts';
import { accountOf, clientOf } from './request-state.ts';
import type { Runner } from './runner.ts';
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

export type Subscriber = (args: ExecutionArgs) => Promise<ExecutionResult | AsyncIterable<ExecutionResult>>;

export interface SubscriberOptions {
  readonly runner: Runner;
  readonly eventGate: Gate;
  readonly streams: StreamLimit;
  readonly metrics: StreamMetrics;
  readonly untilExpiry: StreamExpiry;
  readonly log: Logger;
}

const eventIds = new WeakMap<ExecutionResult, string>();
/** Yoga turns what an iterable throws into a result with its message, so an interruption is a result of its own. */
const interruptions = new WeakMap<ExecutionResult, Interruption>();

/** Why a stream ends that is not complete: the service goes down, or something failed. Its client is to come back. */
export type Interruption = 'shutdown' | 'failure';

/** The interruption that a result stands for; undefined where it is to be sent. */
export function interruptionOf(result: ExecutionResult): Interruption | undefined {
  return interruptions.get(result);
}

/** The id that the result of an event is sent with; undefined where it is of no event. */
export function eventIdOf(result: ExecutionResult): string | undefined {
  return eventIds.get(result);
}

/** The id of the last event that the client has seen. The header wins: EventSource keeps a stale one in its URL. */
function lastEventId({ request }: OperationContext): string | undefined {
  return (
    request.headers.get('last-event-id') || new URL(request.url).searchParams.get('lastEventId') || undefined
  );
}

class ShutdownError extends Error {}

async function* untilShutdown(
  events: AsyncIterable<readonly FeedEvent[]>,
  shutdown: AbortSignal,
): AsyncGenerator<readonly FeedEvent[]> {
  yield* events;
  if (shutdown.aborted) throw new ShutdownError('the service goes down');
}

/** Opens the feed for a request, from where the client left off, and notes the start for the stream. */
export async function openEvents(
  feed: PostFeed,
  context: OperationContext,
  shutdown: AbortSignal,
): Promise<AsyncIterable<readonly FeedEvent[]>> {
  const { state } = context;
  const start = await feed.open(lastEventId(context));
  state.eventStart = start;
  const events = feed.follow(start, AbortSignal.any([state.stop.signal, shutdown]));
  return untilShutdown(events, shutdown);
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
function endWith({ request: { signal }, state: { stop } }: OperationContext): void {
  if (signal.aborted) stop.abort();
  else signal.addEventListener('abort', () => stop.abort(), { once: true });
}

/** Opens subscriptions: within the client's number of streams, from its last event, one execution an event. */
export function createSubscriber({
  runner,
  eventGate,
  streams,
  metrics,
  untilExpiry,
  log,
}: SubscriberOptions): Subscriber {
  const wait = inTurn(eventGate);

  /** The same arguments for the source of the events: what it reads from the database waits its turn. */
  function sourceArgs(args: ExecutionArgs, context: OperationContext): ExecutionArgs {
    const { db } = context;
    const waiting: Queryable = { query: (statement, values) => wait(() => db.query(statement, values)) };
    return { ...args, contextValue: { ...context, db: waiting } };
  }

  /**
   * The result of an event. An execution is several statements, between which others delete what it reads: then it is
   * done again on the post as it is now. Undefined where the post is gone: then there is no event.
   */
  async function resultOf(args: ExecutionArgs, event: SourceEvent): Promise<ExecutionResult | undefined> {
    let result = await runner.runEvent(args, event);
    let current: SourceEvent | undefined = event;
    for (let left = MAX_REFRESHES; left > 0; left -= 1) {
      if (!result.errors?.some((error) => MAY_BE_GONE.has(publicError(error).code))) break;
      current = await current.refresh();
      if (current === undefined) return undefined;
      result = await runner.runEvent(args, current);
    }
    return result;
  }

  async function* eachEvent(
    source: AsyncIterable<SourceEvent>,
    args: ExecutionArgs,
  ): AsyncGenerator<ExecutionResult> {
    for await (const item of source) {
      const result = await resultOf(args, item);
      if (result === undefined) continue;
      // The stream breaks off, and the client gets this event when it comes back. A bug would meet it again and again:
      // that event goes out as an error, and those after it still arrive.
      const passing = result.errors?.find((error) => PASSING.has(publicError(error).code));
      if (passing !== undefined) throw new Error(`an event could not be executed: ${passing.message}`);
      const { event, eventId, replayed } = item.delivery;
      eventIds.set(result, eventId);
      metrics.sent(event.createdAt, replayed);
      yield result;
    }
  }

  async function* interruptible(
    results: AsyncIterable<ExecutionResult>,
    { state }: OperationContext,
  ): AsyncGenerator<ExecutionResult> {
    try {
      yield* results;
    } catch (error) {
      const interruption = error instanceof ShutdownError ? 'shutdown' : 'failure';
      if (interruption === 'failure')
        log.warn({ requestId: state.requestId, err: error }, 'an event stream broke off');
      const result = {};
      interruptions.set(result, interruption);
      yield result;
    }
  }

  /** An id that cannot be gone on from: one result that says so, with the id of now, and the end. */
  async function* refuseStart(
    context: OperationContext,
    start: FeedStart,
    failure: NonNullable<FeedStart['failure']>,
  ): AsyncGenerator<ExecutionResult> {
    const result = refusedResult(startError(failure), context, log);
    eventIds.set(result, start.eventId);
    yield result;
  }

  return async (args) => {
    const context = args.contextValue as OperationContext;
    const { state } = context;
    let close: () => void;
    try {
      close = await streams.open({
        client: clientOf(state),
        account: accountOf(state),
        connection: state.connection,
      });
    } catch (error) {
      return refusedResult(error, context, log);
    }
    state.stop.signal.addEventListener('abort', close, { once: true });
    endWith(context);
    const source = await createSourceEventStream(sourceArgs(args, context)).catch((error: unknown) => {
      close();
      throw error;
    });
    const start = state.eventStart;
    if (!isAsyncIterable(source) || start === undefined) {
      close();
      return maskResult(source as ExecutionResult, context, log);
    }
    if (start.failure !== undefined) return refuseStart(context, start, start.failure);
    const results = eachEvent(source as AsyncIterable<SourceEvent>, args);
    return interruptible(untilExpiry(results, context), context);
  };
}
