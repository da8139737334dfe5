import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { decodeEventId, type EventPlace, encodeEventId } from './event-id.ts';
import { currentGeneration, type Generation } from './generation.ts';
import { currentPosition, isAfter, isHeldBack, type LogEvent, type LogPosition, readAfter } from './log.ts';

/** Where a reader starts. */
export interface FeedStart {
  readonly position: LogPosition;
  /** The position of now: what lies before it is history. */
  readonly now: LogPosition;
  /** Why the reader's own id could not be gone on from; it then starts from now. */
  readonly failure: 'malformed' | 'expired' | undefined;
  /** The id of a position, as the reader gets to see it. */
  eventId(position: LogPosition): string;
}

/** The event log as it grows, for any number of readers in this process. */
export interface PostFeed {
  /** Says that something may have been committed, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, with the id of the last event it has seen, of one that comes back. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /**
   * The events after `position`, first those of the past, then each as it comes, in order, none left out and none
   * twice. Ends when `signal` aborts or the feed closes. Throws DatabaseError while the past is read.
   */
  follow(position: LogPosition, signal: AbortSignal): AsyncGenerator<LogEvent, void, undefined>;
  close(): Promise<void>;
}

/** A wake-up can get lost (another instance, a process that died after its commit): so the log is also polled. */
const POLL_INTERVAL_MS = 1_000;
const HELD_BACK_INTERVAL_MS = 20;
const BATCH = 500;
const WINDOW = 2_000;

export interface PostFeedOptions {
  readonly database: Database;
  readonly log: Logger;
}

/** Whether the log can be gone on with from a place: all that came after it is there, and nothing else. */
function judge(place: EventPlace | undefined, { key, pruned, nextXid }: Generation): FeedStart['failure'] {
  if (place === undefined) return 'malformed';
  const gone =
    place.generation !== key || place.xid > nextXid || (pruned !== undefined && isAfter(pruned, place));
  return gone ? 'expired' : undefined;
}

/**
 * One reader tails the log for the whole process and keeps its newest events in a window. A follower is no more than
 * a position: it reads from the window or, where it has fallen behind it, from the log. So a slow one holds no memory
 * and delays nobody.
 */
export function createPostFeed({ database, log }: PostFeedOptions): PostFeed {
  let events: LogEvent[] = [];
  /** All events in (start, end] are in the window; undefined while nobody follows. */
  let window: { start: LogPosition; end: LogPosition } | undefined;
  let followers = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;
  let again = false;
  let grown = Promise.withResolvers<void>();

  function schedule(delayMs: number): void {
    clearTimeout(timer);
    if (!closed && followers > 0) timer = setTimeout(wake, delayMs).unref();
  }

  function append(batch: readonly LogEvent[]): void {
    const last = batch.at(-1);
    if (last === undefined || window === undefined) return;
    events.push(...batch);
    window.end = last.position;
    if (events.length > WINDOW) {
      const dropped = events.splice(0, events.length - WINDOW).at(-1);
      if (dropped !== undefined) window.start = dropped.position;
    }
    grown.resolve();
    grown = Promise.withResolvers();
  }

  async function drain(): Promise<void> {
    if (window === undefined) {
      const start = await currentPosition(database);
      window = { start, end: start };
    }
    for (let full = true; full; ) {
      const batch = await readAfter(database, window.end, BATCH);
      append(batch);
      full = batch.length === BATCH;
    }
    schedule((await isHeldBack(database)) ? HELD_BACK_INTERVAL_MS : POLL_INTERVAL_MS);
  }

  function wake(): void {
    if (closed || followers === 0) return;
    if (draining !== undefined) {
      again = true;
      return;
    }
    draining = drain()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'the event log could not be read; trying again');
        schedule(POLL_INTERVAL_MS);
      })
      .finally(() => {
        draining = undefined;
        if (!again) return;
        again = false;
        wake();
      });
  }

  /** The events after the position that are in the window; undefined where some may be missing from it. */
  function recent(position: LogPosition): LogEvent[] | undefined {
    if (window === undefined || isAfter(window.start, position)) return undefined;
    if (!isAfter(window.end, position)) return [];
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const event = events[middle];
      if (event !== undefined && isAfter(event.position, position)) high = middle;
      else low = middle + 1;
    }
    return events.slice(low);
  }

  async function* follow(
    position: LogPosition,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent, void, undefined> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    let place = position;
    followers += 1;
    try {
      while (!closed && !signal.aborted) {
        const growth = grown.promise;
        const batch = recent(place) ?? (await readAfter(database, place, BATCH));
        for (const event of batch) {
          if (closed || signal.aborted) return;
          place = event.position;
          yield event;
        }
        if (batch.length > 0) continue;
        if (window === undefined) wake();
        await Promise.race([growth, aborted]);
      }
    } finally {
      followers -= 1;
      if (followers === 0) {
        clearTimeout(timer);
        window = undefined;
        events = [];
      }
    }
  }

  return {
    wake,
    async open(lastEventId) {
      const generation = await currentGeneration(database);
      const now = await currentPosition(database);
      const place = lastEventId === undefined ? undefined : decodeEventId(lastEventId);
      const failure = lastEventId === undefined ? undefined : judge(place, generation);
      const position = place === undefined || failure !== undefined ? now : { xid: place.xid, id: place.id };
      return {
        position,
        now,
        failure,
        eventId: (at) => encodeEventId({ generation: generation.key, ...at }),
      };
    },
    follow,
    async close() {
      closed = true;
      clearTimeout(timer);
      grown.resolve();
      await draining;
    },
  };
}
