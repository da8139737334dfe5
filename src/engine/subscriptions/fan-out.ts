import { ApiError, type ErrorCode } from '../../platform/errors.ts';
import { MemoryBudget } from '../../platform/fairness/memory-budget.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { addressesOf, computeRoutingKey, encodeEventId, matches } from '../events/event.ts';
import type { StreamFormat } from '../events/event-stream.ts';
import type { FeedStart } from '../events/feed.ts';
import type { Growth } from '../events/tail.ts';
import type { EventTexts } from './event-responses.ts';
import { Group, type GroupOptions } from './shared-subscription.ts';
import { SliceQueue } from './socket-write-queue.ts';
import type { StreamLimit } from './stream-limit.ts';
import { SubscriberStream } from './subscriber-stream.ts';

/** What a new stream delivers, and where it starts. */
interface NewStream {
  readonly texts: EventTexts;
  readonly format: StreamFormat;
  readonly start: FeedStart;
  readonly visibleHeartbeats: boolean;
  /** Who is charged for the stream. */
  readonly owner: string;
  /** What it keeps for itself, beside its group. */
  readonly bytes: number;
}

/** Delivers events to all streams of the process, in groups of those that get the same. */
export interface FanOut {
  /** Opens a stream. Throws SERVICE_UNAVAILABLE if it needs one group too many, RATE_LIMITED if its owner does. */
  open(stream: NewStream): SubscriberStream;
  readonly groups: number;
  /** What the groups and their streams take, by the estimate of their texts. */
  readonly groupBytes: number;
  /** The number of sets of streams at one position. */
  readonly cohorts: number;
  readonly lagging: number;
  readonly catchingUp: number;
  /** Ends all streams, and new ones as they open, so that clients reconnect elsewhere. */
  interrupt(): void;
}

export interface FanOutOptions extends Omit<GroupOptions, 'texts' | 'slices'> {
  /** The most groups. Each reads every event for itself. */
  readonly maxGroups: number;
  /** What all groups and streams may take, by the estimate of their texts. One account may have an eighth. */
  readonly maxGroupBytes: number;
}

/** The contract promises a heartbeat at least every 15 seconds. */
const HEARTBEAT_MS = 12_000;
const TICK_MS = 1_000;

interface OpenGroup {
  readonly group: Group;
  readonly leave: (stream: SubscriberStream, owner: string) => void;
}

function tooMany(code: ErrorCode): ApiError {
  const message =
    code === 'RATE_LIMITED'
      ? 'Your account has too many distinct subscriptions open. Close some of them, then try again.'
      : 'Too many distinct subscriptions are open on this instance. Try again.';
  return new ApiError(code, message, { headers: { 'retry-after': '5' } });
}

export function createFanOut(options: FanOutOptions): FanOut {
  const { feed, metrics, use, maxGroups, maxGroupBytes, tracing, log } = options;
  const groups = new Map<string, OpenGroup>();
  /** The groups at each address of events. */
  const routes = new Map<string, Set<Group>>();
  const memory = new MemoryBudget(maxGroupBytes);
  const streams = new Set<SubscriberStream>();
  const slices = new SliceQueue();
  let ticking: NodeJS.Timeout | undefined;
  let unfollow: (() => void) | undefined;
  let interrupted = false;

  /** An event asks for the groups at its addresses, however many others there are. */
  function wake(growth: Growth | undefined): void {
    if (growth === undefined) {
      for (const { group } of groups.values()) group.wake();
      return;
    }
    const woken = new Set<Group>();
    for (const event of growth.events)
      for (const address of addressesOf(event))
        for (const group of routes.get(address) ?? []) if (matches(group.filter, event)) woken.add(group);
    for (const group of woken) group.wake(growth.after);
  }

  /** Has the events of its address wake a group. Returns what ends that. */
  function route(group: Group): () => void {
    const address = computeRoutingKey(group.filter);
    if (address === undefined) return () => undefined;
    const at = routes.get(address) ?? new Set();
    routes.set(address, at.add(group));
    return () => {
      at.delete(group);
      if (at.size === 0 && routes.get(address) === at) routes.delete(address);
    };
  }

  /** Where a stream is: what has come meanwhile was not for it if it waits at the end of the log. */
  function positionOf({ cohort, position }: SubscriberStream): string {
    return cohort?.atEnd === true ? encodeEventId(feed.atEnd(cohort.readerPosition)) : position;
  }

  /** One timer for all streams. */
  function tick(): void {
    const nowMs = performance.now();
    const beating: SubscriberStream[] = [];
    const quiet: SubscriberStream[] = [];
    for (const stream of streams) {
      if (nowMs - stream.heartbeatAtMs >= HEARTBEAT_MS) beating.push(stream);
      // A stream that replays gets its position once it is at the end.
      if (stream.isQuiet(nowMs) && stream.cohort?.atEnd === true) quiet.push(stream);
    }
    // The log retains events for a limited time only.
    if (quiet.length > 0) for (const { group } of groups.values()) group.moveOn(feed.atEnd);
    inSlices(beating, (stream) => stream.beat(nowMs, () => positionOf(stream)));
    inSlices(quiet, (stream) => stream.tellPosition(positionOf(stream)));
  }

  function inSlices(among: readonly SubscriberStream[], handle: (stream: SubscriberStream) => void): void {
    if (among.length === 0) return;
    slices
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

  /** Throws if the owner, or all owners together, may not have these bytes as well. */
  function checkRoom(owner: string, bytes: number): void {
    if (!memory.isWithinQuota(owner, bytes)) throw tooMany('RATE_LIMITED');
    if (!memory.freeFor(bytes)) throw tooMany('SERVICE_UNAVAILABLE');
  }

  /** The group of a stream, and what gives it back if it is the last of it. A group is charged to who opened it. */
  function groupFor({ texts, owner, bytes }: NewStream): OpenGroup {
    const { key } = texts;
    let open = groups.get(key);
    checkRoom(owner, open === undefined ? bytes + texts.bytes : bytes);
    if (open === undefined) {
      if (groups.size >= maxGroups) throw tooMany('SERVICE_UNAVAILABLE');
      memory.add(texts.bytes, owner);
      const group = new Group({ texts, feed, slices, metrics, use, tracing, log });
      const unroute = route(group);
      open = {
        group,
        leave(stream, leaving) {
          group.leave(stream, leaving);
          if (group.size > 0 || groups.get(key)?.group !== group) return;
          groups.delete(key);
          unroute();
          memory.add(-texts.bytes, owner);
        },
      };
      groups.set(key, open);
    }
    return open;
  }

  function total(count: (group: Group) => number): number {
    let sum = 0;
    for (const { group } of groups.values()) sum += count(group);
    return sum;
  }

  return {
    open(opening) {
      const { group, leave } = groupFor(opening);
      memory.add(opening.bytes, opening.owner);
      group.enter(opening.owner);
      const stream = new SubscriberStream({
        deliver: group.join,
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
    get groups() {
      return groups.size;
    },
    get groupBytes() {
      return memory.bytes;
    },
    get cohorts() {
      const cohorts = new Set<unknown>();
      for (const { cohort } of streams) if (cohort !== undefined) cohorts.add(cohort);
      return cohorts.size;
    },
    get lagging() {
      return total((group) => group.lagging);
    },
    get catchingUp() {
      return total((group) => group.catchingUp);
    },
    interrupt() {
      interrupted = true;
      slices
        .run([...streams], (slice) => {
          for (const stream of slice) stream.interrupt();
        })
        .catch((error: unknown) => log.emit('streams.shutdown_failed', { err: error }));
    },
  };
}

/** Has the metrics tell how many streams are open, and how the fan-out shares them out. */
export function registerFanOutMetrics(
  metrics: Metrics,
  fanOut: FanOut,
  streams: Pick<StreamLimit, 'total'>,
): void {
  metrics.gauge('content_graph_event_streams_open', 'Open event streams.', () => streams.total);
  metrics.gauge(
    'content_graph_distinct_subscription_bytes',
    'Estimated memory of all distinct subscriptions, which MAX_DISTINCT_SUBSCRIPTION_BYTES limits.',
    () => fanOut.groupBytes,
  );
  metrics.gauge(
    'content_graph_distinct_subscriptions',
    'Distinct subscriptions that are open. Event streams with the same content count as one.',
    () => fanOut.groups,
  );
  metrics.gauge(
    'content_graph_subscription_cohorts',
    'Sets of event streams with the same subscription and the same position in the event log.',
    () => fanOut.cohorts,
  );
  metrics.gauge(
    'content_graph_event_streams_lagging',
    'Event streams that are paused until their clients have read what was sent.',
    () => fanOut.lagging,
  );
  metrics.gauge(
    'content_graph_event_streams_replaying',
    'Event streams that are waiting to read events from before they were opened.',
    () => fanOut.catchingUp,
  );
}
