import type { Database } from '../platform/db/database.ts';
import { isOutage } from '../platform/db/errors.ts';
import type { Logger } from '../platform/log.ts';
import { canResumeFrom } from './generation.ts';
import { type LogEvent, readAfter, readNow } from './log.ts';
import { isAfter, type LogPosition } from './position.ts';

/** The newest events of the log, read once for the whole process while somebody follows. */
export interface LogTail {
  /** Signals a possible commit, so that readers need not wait for the next poll. */
  wake(): void;
  /**
   * Keeps reading, and calls `onGrowth` when there may be more events. Returns a function that stops it;
   * further calls do nothing.
   */
  follow(onGrowth: () => void): () => void;
  /**
   * Up to `limit` events after a position, from the window. Undefined if the window may lack some of them.
   */
  recent(generation: string, position: LogPosition, limit: number): readonly LogEvent[] | undefined;
  /** Whether the window holds events of that generation. */
  follows(generation: string): boolean;
  close(): Promise<void>;
}

/** Wake-ups can get lost, for example if a process dies after its commit, so the log is also polled. */
const POLL_INTERVAL_MS = 1_000;
/** Nothing announces the end of a transaction that holds events back: poll with exponential backoff. */
const HELD_BACK_MIN_MS = 20;
const HELD_BACK_MAX_MS = 320;
const BATCH = 500;
const WINDOW = 2_000;

/** All events of one generation in (start, end]. */
interface Window {
  readonly generation: string;
  start: LogPosition;
  end: LogPosition;
  events: LogEvent[];
}

function grow(window: Window, batch: readonly LogEvent[]): void {
  const last = batch.at(-1);
  if (last === undefined) return;
  window.events.push(...batch);
  window.end = last.position;
  if (window.events.length <= WINDOW) return;
  const dropped = window.events.splice(0, window.events.length - WINDOW).at(-1);
  if (dropped !== undefined) window.start = dropped.position;
}

function eventsAfter({ events }: Window, position: LogPosition, limit: number): LogEvent[] {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const event = events[middle];
    if (event !== undefined && isAfter(event.position, position)) high = middle;
    else low = middle + 1;
  }
  return events.slice(low, low + limit);
}

export interface LogTailOptions {
  readonly database: Database;
  readonly log: Logger;
}

export function createLogTail({ database, log }: LogTailOptions): LogTail {
  let window: Window | undefined;
  const followers = new Set<() => void>();
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;
  let again = false;
  let heldBackMs = HELD_BACK_MIN_MS;

  function announce(): void {
    for (const onGrowth of [...followers]) onGrowth();
  }

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (!closed && followers.size > 0) timer = setTimeout(wake, delayMs).unref();
  }

  async function drain(): Promise<void> {
    if (window === undefined) {
      const { generation, position } = await readNow(database);
      if (followers.size === 0) return;
      window = { generation: generation.key, start: position, end: position, events: [] };
      announce();
    }
    const current = window;
    for (;;) {
      const { generation, events, held } = await readAfter(database, current.end, BATCH);
      // The last follower left meanwhile; a new one may have joined.
      if (window !== current) return;
      if (!canResumeFrom(current.generation, current.end, generation)) {
        log.warn('the history of the event log has changed; event streams restart');
        window = undefined;
        announce();
        return wake();
      }
      grow(current, events);
      if (events.length > 0) announce();
      if (events.length === BATCH) continue;
      heldBackMs = held ? Math.min(heldBackMs * 2, HELD_BACK_MAX_MS) : HELD_BACK_MIN_MS;
      if (events.length > 0) heldBackMs = HELD_BACK_MIN_MS;
      return schedule(held ? heldBackMs : POLL_INTERVAL_MS);
    }
  }

  function wake(): void {
    if (closed || followers.size === 0) return;
    if (draining !== undefined) {
      again = true;
      return;
    }
    draining = drain()
      .catch((error: unknown) => {
        log[isOutage(error) ? 'debug' : 'warn']({ err: error }, 'reading the event log failed; trying again');
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
    follow(onGrowth) {
      // The same function may be registered twice.
      const follower = () => onGrowth();
      followers.add(follower);
      return () => {
        if (!followers.delete(follower) || followers.size > 0) return;
        clearTimeout(timer);
        window = undefined;
      };
    },
    recent(generation, position, limit) {
      if (window === undefined || window.generation !== generation) return undefined;
      return isAfter(window.start, position) ? undefined : eventsAfter(window, position, limit);
    },
    follows: (generation) => window?.generation === generation,
    async close() {
      closed = true;
      clearTimeout(timer);
      await draining;
    },
  };
}
