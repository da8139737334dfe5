import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { CommittedBeforeStart } from './committed-before-start.ts';
import { decodeEventId, type EventPlace, encodeEventId } from './event-id.ts';
import { canResumeFrom } from './generation.ts';
import { type LogEvent, readAfter, readNow } from './log.ts';
import { isAfter, type LogPosition } from './position.ts';
import { createLogTail } from './tail.ts';

/** Where a reader starts. */
export interface FeedStart {
  /** The id of the position that it starts from. */
  readonly eventId: string;
  /** The place in the log. */
  readonly place: EventPlace;
  /** The position of now: what lies before it is history. */
  readonly now: LogPosition;
  /** Why the reader's own id could not be gone on from; it then starts from now. */
  readonly failure: 'malformed' | 'expired' | undefined;
}

/** An event on its way to one reader. */
export interface FeedEvent {
  /** The same for all readers of this process that are about as far. */
  readonly event: LogEvent;
  /** What the reader comes back with once it has this one. */
  readonly eventId: string;
  /** Whether it is from before the reader came. */
  readonly replayed: boolean;
}

/** The event log as it grows, for any number of readers in this process. */
export interface PostFeed {
  /** Says that something may have been committed, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, with the id of the last event it has seen, of one that comes back. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /**
   * The events after a start, first those of the past, then those that come, in order, none left out and none twice.
   * As many at a time as are there, up to a bound. Ends when `signal` aborts or the feed closes. Throws DatabaseError, and HistoryLostError.
   */
  follow(start: FeedStart, signal: AbortSignal): AsyncGenerator<readonly FeedEvent[], void, undefined>;
  close(): Promise<void>;
}

/** The log does not go on from where a reader is: it was pruned past it or restored. Its id is refused when it comes back. */
export class HistoryLostError extends Error {
  constructor() {
    super('the event log does not go on from where the reader is');
    this.name = 'HistoryLostError';
  }
}

/** A reader holds so many at a time. */
const BATCH = 50;

export interface PostFeedOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Has the reads of single readers wait for each other: thousands may come back at once. */
  readonly limitedBy: <T>(read: () => Promise<T>) => Promise<T>;
}

/**
 * One reader tails the log for the whole process. A follower is no more than a position: it reads what the tail has at
 * hand or, where it has fallen behind that, the log. So a slow one holds no memory and delays nobody.
 */
export function createPostFeed({ database, log, limitedBy }: PostFeedOptions): PostFeed {
  const tail = createLogTail({ database, log });

  /** Judged at the instant it is read: what retention drops between two reads is never left out unnoticed. */
  async function readBehind(generation: string, position: LogPosition): Promise<LogEvent[]> {
    const slice = await limitedBy(() => readAfter(database, position, BATCH));
    if (!canResumeFrom(generation, position, slice.generation)) throw new HistoryLostError();
    return slice.events;
  }

  async function* follow(
    { place, now }: FeedStart,
    signal: AbortSignal,
  ): AsyncGenerator<readonly FeedEvent[], void, undefined> {
    const { generation } = place;
    const early = new CommittedBeforeStart(place.early);
    const over = () => tail.closed || signal.aborted;
    const leave = tail.join();
    let position: LogPosition = place;
    const deliver = (event: LogEvent): FeedEvent[] => {
      position = event.position;
      if (early.pass(position.id)) return [];
      const eventId = encodeEventId({ generation, ...position, early: early.runs });
      return [{ event, eventId, replayed: !isAfter(position, now) }];
    };
    try {
      while (!over()) {
        const recent = tail.recent(generation, position, BATCH);
        const batch = recent ?? (await readBehind(generation, position));
        if (batch.length > 0) {
          const events = batch.flatMap(deliver);
          if (events.length > 0 && !over()) yield events;
          continue;
        }
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
      const at = (place: EventPlace, failure: FeedStart['failure']): FeedStart => ({
        eventId: encodeEventId(place),
        place,
        now,
        failure,
      });
      const present: EventPlace = { generation: generation.key, ...now, early: early.runs };
      if (lastEventId === undefined) return at(present, undefined);
      const place = decodeEventId(lastEventId);
      if (place === undefined) return at(present, 'malformed');
      return canResumeFrom(place.generation, place, generation)
        ? at(place, undefined)
        : at(present, 'expired');
    },
    follow,
    close: tail.close,
  };
}
