import type { Database } from '../../database/database.ts';
import { findLogLevel } from '../../database/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import {
  type ChecksummedPosition,
  type EventFilter,
  type EventName,
  isAfter,
  type LogEvent,
  type LogPosition,
  matches,
} from './event.ts';
import { type KnownEvent, readAfter, readNow } from './event-log.ts';

/** Notifications can get lost, for example if a process dies after its commit, so the log is also polled. */
const POLL_INTERVAL_MS = 1_000;
/** PostgreSQL does not notify of the end of a transaction that blocks events, so poll with exponential backoff. */
const BLOCKED_POLL_MIN_MS = 20;
const BLOCKED_POLL_MAX_MS = 320;
const BATCH = 500;
const WINDOW = 2_000;

/** All events of one generation in (start, end]. */
interface Window {
  readonly generation: string;
  start: ChecksummedPosition;
  end: ChecksummedPosition;
  events: LogEvent[];
  /** Those and the start, by number. */
  readonly positions: Map<number, ChecksummedPosition>;
}

/** Events that a filter lets through. */
export interface MatchingEvents {
  /** In order. */
  readonly events: readonly LogEvent[];
  /** There are no others up to here. */
  readonly end: ChecksummedPosition;
}

/** What has been read from the log: all events after a position, in order. */
export interface Growth {
  readonly generation: string;
  readonly after: ChecksummedPosition;
  readonly events: readonly LogEvent[];
}

/** Called when there may be more events; with them, if they are all that there may be. */
export type OnGrowth = (growth: Growth | undefined) => void;

function grow(window: Window, batch: readonly LogEvent[]): void {
  const last = batch.at(-1);
  if (last === undefined) return;
  window.events.push(...batch);
  for (const { position } of batch) window.positions.set(position.id, position);
  window.end = last.position;
  if (window.events.length <= WINDOW) return;
  const dropped = window.events.splice(0, window.events.length - WINDOW);
  window.positions.delete(window.start.id);
  for (const { position } of dropped.slice(0, -1)) window.positions.delete(position.id);
  window.start = dropped.at(-1)?.position ?? window.start;
}

/** Up to `limit` events of a window that a filter lets through, and how far it was looked through for them. */
function eventsAfter(
  { events, end }: Window,
  position: LogPosition,
  limit: number,
  filter: EventFilter,
): MatchingEvents {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const event = events[middle];
    if (event !== undefined && isAfter(event.position, position)) high = middle;
    else low = middle + 1;
  }
  const found: LogEvent[] = [];
  for (let at = low; at < events.length; at += 1) {
    const event = events[at];
    if (event === undefined || !matches(filter, event)) continue;
    found.push(event);
    if (found.length === limit) return { events: found, end: event.position };
  }
  return { events: found, end };
}

export interface LogTailOptions {
  readonly database: Database;
  readonly log: Logger;
}

/** The newest events of the log, read once for the whole process while somebody follows. */
export function createLogTail({ database, log }: LogTailOptions) {
  let window: Window | undefined;
  const followers = new Set<OnGrowth>();
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;
  let again = false;
  let blockedPollMs = BLOCKED_POLL_MIN_MS;

  function notifyFollowers(growth?: Growth): void {
    for (const onGrowth of [...followers]) onGrowth(growth);
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (!closed && followers.size > 0) timer = setTimeout(wake, delayMs).unref();
  }

  async function drain(): Promise<void> {
    if (window === undefined) {
      const { generation, before: _before, ...start } = await readNow(database, log);
      if (followers.size === 0) return;
      window = { generation, start, end: start, events: [], positions: new Map([[start.id, start]]) };
      notifyFollowers();
    }
    const current = window;
    for (;;) {
      const { state, found, events, blocked } = await readAfter(database, current.end, BATCH);
      // The last follower left meanwhile; a new one may have joined.
      if (window !== current) return;
      if (!found || state?.generation !== current.generation) {
        log.emit('events.generation_changed');
        window = undefined;
        notifyFollowers();
        return schedule(POLL_INTERVAL_MS);
      }
      const { generation, end: after } = current;
      grow(current, events);
      if (events.length > 0) notifyFollowers({ generation, after, events });
      if (events.length === BATCH) continue;
      blockedPollMs = blocked ? Math.min(blockedPollMs * 2, BLOCKED_POLL_MAX_MS) : BLOCKED_POLL_MIN_MS;
      if (events.length > 0) blockedPollMs = BLOCKED_POLL_MIN_MS;
      return schedule(blocked ? blockedPollMs : POLL_INTERVAL_MS);
    }
  }

  /** Signals a possible commit, so that readers need not wait for the next poll. */
  function wake(): void {
    if (closed || followers.size === 0) return;
    if (draining !== undefined) {
      again = true;
      return;
    }
    draining = drain()
      .catch((error: unknown) => {
        log.emit('events.log_read_failed', { err: error }, findLogLevel(error));
        schedule(POLL_INTERVAL_MS);
      })
      .finally(() => {
        draining = undefined;
        if (!again) return;
        again = false;
        wake();
      });
  }

  return {
    wake,
    /**
     * Keeps reading, and calls `onGrowth` when there may be more events. Returns a function that stops it;
     * further calls do nothing.
     */
    follow(onGrowth: OnGrowth): () => void {
      // The same function may be registered twice.
      const follower: OnGrowth = (growth) => onGrowth(growth);
      followers.add(follower);
      if (followers.size === 1) wake();
      return () => {
        if (!followers.delete(follower) || followers.size > 0) return;
        clearTimeout(timer);
        window = undefined;
      };
    },
    /** Up to `limit` events after a position, from the window. Undefined if the window may lack some of them. */
    recent(
      generation: string,
      position: LogPosition,
      limit: number,
      filter: EventFilter,
    ): MatchingEvents | undefined {
      if (window === undefined || window.generation !== generation) return undefined;
      return isAfter(window.start, position) ? undefined : eventsAfter(window, position, limit, filter);
    },
    /** The last event of the window, if it belongs to the generation. */
    end: (generation: string): ChecksummedPosition | undefined =>
      window?.generation === generation ? window.end : undefined,
    /** An event of the window; undefined if the log must be asked. */
    find({ id, checksum }: EventName): KnownEvent | undefined {
      const position = window?.positions.get(id);
      if (window === undefined || position?.checksum !== checksum) return undefined;
      return { generation: window.generation, ...position };
    },
    /** True if the window has events of the generation. */
    follows: (generation: string): boolean => window?.generation === generation,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await draining;
    },
  };
}
