import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { EarlyEvents } from './early-events.ts';
import { decodeEventId, encodeEventId } from './event-id.ts';
import { goesOn } from './generation.ts';
import { type LogEvent, readAfter, readNow } from './log.ts';
import type { LogPosition } from './position.ts';
import { createLogTail } from './tail.ts';

/** Where a reader starts. */
export interface FeedStart {
  readonly position: LogPosition;
  /** The position of now: what lies before it is history. */
  readonly now: LogPosition;
  /** Why the reader's own id could not be gone on from; it then starts from now. */
  readonly failure: 'malformed' | 'expired' | undefined;
  readonly generation: string;
  /** What lies after the position and is not for this reader, as far as it has got. */
  readonly early: EarlyEvents;
  /** The id of the event that the reader has got to, as it gets to see it. */
  eventId(position: LogPosition): string;
}

/** The event log as it grows, for any number of readers in this process. */
export interface PostFeed {
  /** Says that something may have been committed, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, with the id of the last event it has seen, of one that comes back. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /**
   * The events after a start, first those of the past, then each as it comes, in order, none left out and none twice.
   * Ends when `signal` aborts or the feed closes. Throws DatabaseError, and HistoryLostError.
   */
  follow(start: FeedStart, signal: AbortSignal): AsyncGenerator<LogEvent, void, undefined>;
  close(): Promise<void>;
}

/** The log does not go on from where a reader is: it was pruned past it or restored. Its id is refused when it comes back. */
export class HistoryLostError extends Error {
  constructor() {
    super('the event log does not go on from where the reader is');
    this.name = 'HistoryLostError';
  }
}

const BATCH = 500;

export interface PostFeedOptions {
  readonly database: Database;
  readonly log: Logger;
}

/**
 * One reader tails the log for the whole process. A follower is no more than a position: it reads what the tail has at
 * hand or, where it has fallen behind that, the log. So a slow one holds no memory and delays nobody.
 */
export function createPostFeed({ database, log }: PostFeedOptions): PostFeed {
  const tail = createLogTail({ database, log });

  /** Judged at the instant it is read: what retention drops between two reads is never left out unnoticed. */
  async function readBehind(generation: string, position: LogPosition): Promise<LogEvent[]> {
    const slice = await readAfter(database, position, BATCH);
    if (!goesOn(generation, position, slice.generation)) throw new HistoryLostError();
    return slice.events;
  }

  async function* follow(
    { generation, early, position }: FeedStart,
    signal: AbortSignal,
  ): AsyncGenerator<LogEvent, void, undefined> {
    const over = () => tail.closed || signal.aborted;
    const leave = tail.join();
    let place = position;
    try {
      while (!over()) {
        const recent = tail.recent(generation, place);
        const batch = recent ?? (await readBehind(generation, place));
        for (const event of batch) {
          if (over()) return;
          place = event.position;
          if (!early.pass(place.id)) yield event;
        }
        if (batch.length > 0) continue;
        // The tail may have begun while the log was read, a little later in it.
        if (recent === undefined && tail.follows(generation)) continue;
        if (recent === undefined) tail.wake();
        await tail.growth(signal);
      }
    } finally {
      leave();
    }
  }

  return {
    wake: tail.wake,
    async open(lastEventId) {
      const { generation, position: now, early } = await readNow(database);
      const at = (position: LogPosition, ahead: EarlyEvents, failure: FeedStart['failure']): FeedStart => ({
        position,
        now,
        failure,
        generation: generation.key,
        early: ahead,
        eventId: ({ xid, id }) => encodeEventId({ generation: generation.key, xid, id, early: ahead.runs }),
      });
      if (lastEventId === undefined) return at(now, early, undefined);
      const place = decodeEventId(lastEventId);
      if (place === undefined) return at(now, early, 'malformed');
      if (!goesOn(place.generation, place, generation)) return at(now, early, 'expired');
      return at({ xid: place.xid, id: place.id }, new EarlyEvents(place.early), undefined);
    },
    follow,
    close: tail.close,
  };
}
