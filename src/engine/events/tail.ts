import type { Database } from '../../database/database.ts';
import { findLogLevel } from '../../database/errors.ts';
import { coalesceRuns } from '../../platform/async.ts';
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

/** Notifications can get lost, for example if a process dies after its commit. */
const POLL_INTERVAL_MS = 1_000;
/** PostgreSQL sends no notification when a blocking transaction ends. */
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
  readonly positions: Map<number, ChecksummedPosition>;
}

export interface MatchingEvents {
  readonly events: readonly LogEvent[];
  /** The position up to which no other event matches. */
  readonly end: ChecksummedPosition;
}

export interface Growth {
  readonly generation: string;
  readonly after: ChecksummedPosition;
  readonly events: readonly LogEvent[];
}

/** `growth` has the new events if they are known to be complete. */
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

/** Reads the newest events of the log once for the whole process, while there are followers. */
export function createLogTail({ database, log }: LogTailOptions) {
  let window: Window | undefined;
  const followers = new Set<OnGrowth>();
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
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
      // The last follower left during the read. A new follower may have joined since.
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

  const readAll = coalesceRuns(async () => {
    if (closed || followers.size === 0) return;
    try {
      await drain();
    } catch (error) {
      log.emit('events.log_read_failed', { err: error }, findLogLevel(error));
      schedule(POLL_INTERVAL_MS);
    }
  });

  function wake(): void {
    if (followers.size > 0) void readAll();
  }

  return {
    wake,
    /** Further calls of the returned function do nothing. */
    follow(onGrowth: OnGrowth): () => void {
      // A caller may register one function twice.
      const follower: OnGrowth = (growth) => onGrowth(growth);
      followers.add(follower);
      if (followers.size === 1) wake();
      return () => {
        if (!followers.delete(follower) || followers.size > 0) return;
        clearTimeout(timer);
        window = undefined;
      };
    },
    /** Undefined if the window may lack some of the events. */
    recent(
      generation: string,
      position: LogPosition,
      limit: number,
      filter: EventFilter,
    ): MatchingEvents | undefined {
      if (window === undefined || window.generation !== generation) return undefined;
      return isAfter(window.start, position) ? undefined : eventsAfter(window, position, limit, filter);
    },
    end: (generation: string): ChecksummedPosition | undefined =>
      window?.generation === generation ? window.end : undefined,
    /** Undefined if only the log can tell. */
    find({ id, checksum }: EventName): KnownEvent | undefined {
      const position = window?.positions.get(id);
      if (window === undefined || position?.checksum !== checksum) return undefined;
      return { generation: window.generation, ...position };
    },
    follows: (generation: string): boolean => window?.generation === generation,
    async close(): Promise<void> {
      closed = true;
      clearTimeout(timer);
      await readAll();
    },
  };
}
