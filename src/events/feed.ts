import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';
import { decodeEventId, encodeEventId } from './event-id.ts';
import type { EventPlace } from './event-place.ts';
import { canResumeFrom } from './generation.ts';
import { type LogEvent, type LogNow, readAfter, readNow } from './log.ts';
import type { LogPosition } from './position.ts';
import { sharedByNext } from './shared-by-next.ts';
import { createLogTail } from './tail.ts';

/** Where a reader starts. */
export interface FeedStart {
  /** The id of the start position. */
  readonly eventId: string;
  /** The start position in the log. */
  readonly place: EventPlace;
  /** The current end of the log. Events up to it are history. */
  readonly now: LogPosition;
  /** Why the reader could not resume from its own id. It then starts from the current end. */
  readonly failure: 'malformed' | 'expired' | undefined;
}

/** The event log as readers at any number of places see it. */
export interface PostFeed {
  /** Signals a possible commit, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, given its last event id, of a returning one. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /** Up to `limit` events after a place, from memory. Undefined if memory may lack some of them. */
  recent(place: EventPlace, limit: number): readonly LogEvent[] | undefined;
  /**
   * Up to `limit` events after a place, in order and without gaps. Empty at the end of the log. Throws
   * DatabaseError, HistoryLostError.
   */
  read(place: EventPlace, limit: number): Promise<readonly LogEvent[]>;
  /** Calls `onGrowth` when there may be more events. Returns a function that stops it. */
  follow(onGrowth: () => void): () => void;
  close(): Promise<void>;
}

/** The log was pruned past a reader's place or restored. The reader's id is refused from then on. */
export class HistoryLostError extends Error {
  constructor() {
    super('the event log no longer continues from the place of the reader');
    this.name = 'HistoryLostError';
  }
}

export interface PostFeedOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Limits how many reads of the log run at once. */
  readonly limitedBy: <T>(read: () => Promise<T>) => Promise<T>;
}

/** One tail reads the log for the whole process. Readers that have fallen behind read the log itself. */
export function createPostFeed({ database, log, limitedBy }: PostFeedOptions): PostFeed {
  const tail = createLogTail({ database, log });
  // Thousands may connect at once. The end of the log must be read after each of them came, but not for each.
  const present = sharedByNext<LogNow>(() => readNow(database));

  /** Reads the generation together with the events, so that pruning in between cannot go unnoticed. */
  async function readBehind(place: EventPlace, limit: number): Promise<readonly LogEvent[]> {
    const slice = await limitedBy(() => readAfter(database, place, limit));
    if (!canResumeFrom(place.generation, place, slice.generation)) throw new HistoryLostError();
    return slice.events;
  }

  const recent = (place: EventPlace, limit: number) => tail.recent(place.generation, place, limit);

  return {
    wake: tail.wake,
    async open(lastEventId) {
      const { generation, position: now, early } = await present();
      const at = (place: EventPlace, failure: FeedStart['failure']): FeedStart => ({
        eventId: encodeEventId(place),
        place,
        now,
        failure,
      });
      const end: EventPlace = { generation: generation.key, ...now, early: early.runs };
      if (lastEventId === undefined) return at(end, undefined);
      const place = decodeEventId(lastEventId);
      if (place === undefined) return at(end, 'malformed');
      return canResumeFrom(place.generation, place, generation) ? at(place, undefined) : at(end, 'expired');
    },
    recent,
    async read(place, limit) {
      for (;;) {
        const known = recent(place, limit);
        if (known !== undefined) return known;
        const events = await readBehind(place, limit);
        if (events.length > 0) return events;
        // The tail starts at the end of the log. If it has started meanwhile, it knows better.
        if (tail.follows(place.generation)) continue;
        tail.wake();
        return events;
      }
    },
    follow: tail.follow,
    close: tail.close,
  };
}
