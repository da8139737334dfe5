import type { FeedStart, PostFeed } from '../../events/feed.ts';
import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { StreamFormat } from '../../request/event-stream.ts';
import type { EventTexts } from './event-texts.ts';
import { Group } from './group.ts';
import { SliceQueue } from './slices.ts';
import type { StreamMetrics } from './stream-metrics.ts';
import { SubscriberStream } from './subscriber-stream.ts';

/** What a new stream delivers, and where it starts. */
interface NewStream {
  readonly texts: EventTexts;
  readonly format: StreamFormat;
  readonly start: FeedStart;
  /** Who is charged for the stream. */
  readonly owner: string;
}

/** Delivers events to all streams of the process, in groups of those that get the same. */
export interface FanOut {
  /** Opens a stream. Throws SERVICE_UNAVAILABLE if it needs one group too many. */
  open(stream: NewStream): SubscriberStream;
  readonly groups: number;
  /** How many sets of streams are at the same place. */
  readonly cohorts: number;
  readonly lagging: number;
  readonly catchingUp: number;
  /** Ends all streams, and new ones as they open, so that clients reconnect elsewhere. */
  interrupt(): void;
}

export interface FanOutOptions {
  readonly feed: PostFeed;
  readonly metrics: StreamMetrics;
  /** The most groups. Each reads every event for itself. */
  readonly maxGroups: number;
  readonly log: Logger;
}

/** The contract promises a heartbeat at least every 15 seconds. */
const HEARTBEAT_MS = 12_000;
const TICK_MS = 1_000;

export function createFanOut({ feed, metrics, maxGroups, log }: FanOutOptions): FanOut {
  const groups = new Map<string, Group>();
  const streams = new Set<SubscriberStream>();
  const slices = new SliceQueue();
  let ticking: NodeJS.Timeout | undefined;
  let unfollow: (() => void) | undefined;
  let interrupted = false;

  function wake(): void {
    for (const group of groups.values()) group.wake();
  }

  /** One timer for all streams. */
  function tick(): void {
    const nowMs = performance.now();
    const due = [...streams].filter((stream) => nowMs - stream.heartbeatAtMs >= HEARTBEAT_MS);
    if (due.length === 0) return;
    slices
      .run(due, (slice) => {
        for (const stream of slice) stream.beat(nowMs);
      })
      .catch((error: unknown) => log.error({ err: error }, 'heartbeats could not be sent'));
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

  function groupFor({ texts }: NewStream): { key: string; group: Group } {
    const { key } = texts;
    let group = groups.get(key);
    if (group === undefined) {
      if (groups.size >= maxGroups)
        throw new ApiError('SERVICE_UNAVAILABLE', 'Too many different subscriptions are open. Try again.', {
          headers: { 'retry-after': '5' },
        });
      group = new Group({ texts, feed, slices, metrics, log });
      groups.set(key, group);
    }
    return { key, group };
  }

  function total(count: (group: Group) => number): number {
    let sum = 0;
    for (const group of groups.values()) sum += count(group);
    return sum;
  }

  return {
    open(opening) {
      const { key, group } = groupFor(opening);
      group.enter(opening.owner);
      const stream = new SubscriberStream({
        deliver: group.join,
        start: opening.start,
        format: opening.format,
      });
      add(stream);
      if (interrupted) stream.interrupt();
      stream.onClose(() => {
        group.leave(stream);
        remove(stream);
        if (group.size === 0 && groups.get(key) === group) groups.delete(key);
      });
      return stream;
    },
    get groups() {
      return groups.size;
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
        .catch((error: unknown) => log.error({ err: error }, 'event streams could not be ended'));
    },
  };
}
