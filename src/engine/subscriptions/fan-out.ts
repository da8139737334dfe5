import { getOrCreate } from '../../platform/cache.ts';
import { ApiError, type ErrorCode } from '../../platform/errors.ts';
import { MemoryBudget } from '../../platform/fairness/memory-budget.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { addressesOf, computeRoutingKey, encodeEventId, matches } from '../events/event.ts';
import type { StreamFormat } from '../events/event-stream.ts';
import type { FeedStart } from '../events/feed.ts';
import type { Growth } from '../events/tail.ts';
import type { EventRenderer } from './event-responses.ts';
import { SharedSubscription, type SharedSubscriptionOptions } from './shared-subscription.ts';
import { TimeSlicedQueue } from './socket-write-queue.ts';
import type { StreamLimit } from './stream-limit.ts';
import { SubscriberStream } from './subscriber-stream.ts';

interface NewStream {
  readonly renderer: EventRenderer;
  readonly format: StreamFormat;
  readonly start: FeedStart;
  readonly visibleHeartbeats: boolean;
  readonly owner: string;
  readonly bytes: number;
}

export interface FanOutOptions extends Omit<SharedSubscriptionOptions, 'renderer' | 'writeQueue'> {
  /** Each shared subscription reads all of its events separately. */
  readonly maxDistinctSubscriptions: number;
  /** One account may use an eighth of this memory. */
  readonly maxDistinctSubscriptionBytes: number;
}

/** The contract promises a heartbeat at least every 15 s (contract: event streams). */
const HEARTBEAT_MS = 12_000;
const TICK_MS = 1_000;

interface OpenSubscription {
  readonly subscription: SharedSubscription;
  readonly leave: (stream: SubscriberStream, owner: string) => void;
}

function tooMany(code: ErrorCode): ApiError {
  const message =
    code === 'RATE_LIMITED'
      ? 'Your account has too many distinct subscriptions open. Close some of them, then try again.'
      : 'Too many distinct subscriptions are open on this instance. Try again.';
  return new ApiError(code, message, { retryAfterSeconds: 5 });
}

/** Delivers events to all streams of the process. Streams with equal responses have one shared subscription. */
export function createFanOut(options: FanOutOptions) {
  const { feed, metrics, use, maxDistinctSubscriptions, maxDistinctSubscriptionBytes, tracing, log } =
    options;
  const subscriptions = new Map<string, OpenSubscription>();
  const routes = new Map<string, Set<SharedSubscription>>();
  const memory = new MemoryBudget(maxDistinctSubscriptionBytes);
  const streams = new Set<SubscriberStream>();
  const writeQueue = new TimeSlicedQueue();
  let ticking: NodeJS.Timeout | undefined;
  let unfollow: (() => void) | undefined;
  let interrupted = false;

  /** The routing keys of each event find its shared subscriptions, however many others there are. */
  function wake(growth: Growth | undefined): void {
    if (growth === undefined) {
      for (const { subscription } of subscriptions.values()) subscription.wake();
      return;
    }
    const woken = new Set<SharedSubscription>();
    for (const event of growth.events)
      for (const address of addressesOf(event))
        for (const subscription of routes.get(address) ?? [])
          if (matches(subscription.filter, event)) woken.add(subscription);
    for (const subscription of woken) subscription.wake(growth.after);
  }

  function route(subscription: SharedSubscription): () => void {
    const address = computeRoutingKey(subscription.filter);
    if (address === undefined) return () => undefined;
    const at = getOrCreate(routes, address, () => new Set()).add(subscription);
    return () => {
      at.delete(subscription);
      if (at.size === 0 && routes.get(address) === at) routes.delete(address);
    };
  }

  /** A cohort at the end of the log has missed nothing, so the end of the log is the position of its streams. */
  function positionOf({ cohort, position }: SubscriberStream): string {
    return cohort?.atEnd === true ? encodeEventId(feed.atEnd(cohort.readerPosition)) : position;
  }

  /** One timer serves all streams. */
  function tick(): void {
    const nowMs = performance.now();
    const beating: SubscriberStream[] = [];
    const quiet: SubscriberStream[] = [];
    for (const stream of streams) {
      if (nowMs - stream.heartbeatAtMs >= HEARTBEAT_MS) beating.push(stream);
      // A stream that replays gets its position once it is at the end.
      if (stream.isQuiet(nowMs) && stream.cohort?.atEnd === true) quiet.push(stream);
    }
    // The log retains events for a limited time only, so positions must advance.
    if (quiet.length > 0)
      for (const { subscription } of subscriptions.values()) subscription.moveOn(feed.atEnd);
    inSlices(beating, (stream) => stream.beat(nowMs, () => positionOf(stream)));
    inSlices(quiet, (stream) => stream.tellPosition(positionOf(stream)));
  }

  function inSlices(among: readonly SubscriberStream[], handle: (stream: SubscriberStream) => void): void {
    if (among.length === 0) return;
    writeQueue
      .run(among, (slice) => slice.forEach(handle))
      .catch((error: unknown) => log.emit('streams.heartbeat_failed', { err: error }));
  }

  function add(stream: SubscriberStream): void {
    streams.add(stream);
    ticking ??= setInterval(tick, TICK_MS).unref();
    unfollow ??= feed.follow(wake);
  }

  function remove(stream: SubscriberStream): void {
    if (!streams.delete(stream) || streams.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
    unfollow?.();
    unfollow = undefined;
  }

  function checkRoom(owner: string, bytes: number): void {
    if (!memory.isWithinQuota(owner, bytes)) throw tooMany('RATE_LIMITED');
    if (!memory.freeFor(bytes)) throw tooMany('SERVICE_UNAVAILABLE');
  }

  /** The memory of a shared subscription is charged to the owner of its first stream. */
  function openSubscription({ renderer, owner, bytes }: NewStream): OpenSubscription {
    const { key } = renderer;
    let open = subscriptions.get(key);
    checkRoom(owner, open === undefined ? bytes + renderer.bytes : bytes);
    if (open === undefined) {
      if (subscriptions.size >= maxDistinctSubscriptions) throw tooMany('SERVICE_UNAVAILABLE');
      memory.add(renderer.bytes, owner);
      const subscription = new SharedSubscription({ renderer, feed, writeQueue, metrics, use, tracing, log });
      const unroute = route(subscription);
      open = {
        subscription,
        leave(stream, leaving) {
          subscription.leave(stream, leaving);
          if (subscription.size > 0 || subscriptions.get(key)?.subscription !== subscription) return;
          subscriptions.delete(key);
          unroute();
          memory.add(-renderer.bytes, owner);
        },
      };
      subscriptions.set(key, open);
    }
    return open;
  }

  function total(count: (subscription: SharedSubscription) => number): number {
    let sum = 0;
    for (const { subscription } of subscriptions.values()) sum += count(subscription);
    return sum;
  }

  return {
    /**
     * @throws {ApiError} SERVICE_UNAVAILABLE at the limit of distinct subscriptions, RATE_LIMITED at the quota of the
     * owner
     */
    open(opening: NewStream): SubscriberStream {
      const { subscription, leave } = openSubscription(opening);
      memory.add(opening.bytes, opening.owner);
      subscription.enter(opening.owner);
      const stream = new SubscriberStream({
        deliver: subscription.join,
        start: opening.start,
        format: opening.format,
        visibleHeartbeats: opening.visibleHeartbeats,
      });
      add(stream);
      if (interrupted) stream.interrupt();
      stream.onClose(() => {
        leave(stream, opening.owner);
        memory.add(-opening.bytes, opening.owner);
        remove(stream);
      });
      return stream;
    },
    get distinctSubscriptions(): number {
      return subscriptions.size;
    },
    get distinctSubscriptionBytes(): number {
      return memory.bytes;
    },
    get cohorts(): number {
      const cohorts = new Set<unknown>();
      for (const { cohort } of streams) if (cohort !== undefined) cohorts.add(cohort);
      return cohorts.size;
    },
    get lagging(): number {
      return total((subscription) => subscription.lagging);
    },
    get catchingUp(): number {
      return total((subscription) => subscription.catchingUp);
    },
    /** Closes current and future streams, so that clients reconnect to another instance. */
    interrupt(): void {
      interrupted = true;
      writeQueue
        .run([...streams], (slice) => {
          for (const stream of slice) stream.interrupt();
        })
        .catch((error: unknown) => log.emit('streams.shutdown_failed', { err: error }));
    },
  };
}

export type FanOut = ReturnType<typeof createFanOut>;

export function registerFanOutMetrics(
  metrics: Metrics,
  fanOut: FanOut,
  streams: Pick<StreamLimit, 'total'>,
): void {
  metrics.gauge('content_graph_event_streams_open', 'Open event streams.', () => streams.total);
  metrics.gauge(
    'content_graph_distinct_subscription_bytes',
    'Estimated memory of distinct subscriptions (MAX_DISTINCT_SUBSCRIPTION_BYTES).',
    () => fanOut.distinctSubscriptionBytes,
  );
  metrics.gauge(
    'content_graph_distinct_subscriptions',
    'Distinct subscriptions. Streams with the same content count as one.',
    () => fanOut.distinctSubscriptions,
  );
  metrics.gauge(
    'content_graph_subscription_cohorts',
    'Sets of streams with the same subscription and position in the log.',
    () => fanOut.cohorts,
  );
  metrics.gauge(
    'content_graph_event_streams_lagging',
    'Streams paused until their clients have read what was sent.',
    () => fanOut.lagging,
  );
  metrics.gauge(
    'content_graph_event_streams_replaying',
    'Streams waiting to read earlier events.',
    () => fanOut.catchingUp,
  );
}
