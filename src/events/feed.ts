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
  /** The id of the start position. */
  readonly eventId: string;
  /** The start position in the log. */
  readonly place: EventPlace;
  /** The current end of the log. Events up to it are history. */
  readonly now: LogPosition;
  /** Why the reader could not resume from its own id. It then starts from the current end. */
  readonly failure: 'malformed' | 'expired' | undefined;
}

/** An event for one reader. */
export interface FeedEvent {
  /** Shared between readers of this process that are at about the same position. */
  readonly event: LogEvent;
  /** The id to resume from after this event. */
  readonly eventId: string;
  /** Whether it was committed before the reader connected. */
  readonly replayed: boolean;
}

/** A live feed of the event log for any number of readers in this process. */
export interface PostFeed {
  /** Signals a possible commit, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, given its last event id, of a returning one. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /**
   * Yields the events after a start, past and then new, in order, without gaps or duplicates. Each batch
   * holds the events available, up to a bound. Ends when `signal` aborts or the feed closes. Throws
   * DatabaseError, HistoryLostError.
   */
  follow(start: FeedStart, signal: AbortSignal): AsyncGenerator<readonly FeedEvent[], void, undefined>;
  close(): Promise<void>;
}

/** The log was pruned past a reader's position or restored. The reader's id is refused from then on. */
export class HistoryLostError extends Error {
  constructor() {
    super('the event log no longer continues from the position of the reader');
    this.name = 'HistoryLostError';
  }
}

/** The most events that a reader holds at a time. */
const BATCH = 50;

export interface PostFeedOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Limits how many readers read the log at once: thousands may reconnect together. */
  readonly limitedBy: <T>(read: () => Promise<T>) => Promise<T>;
}

/**
 * One tail reads the log for the whole process. A follower is only a position: it reads from the tail's
 * window or, if it has fallen behind, from the log. So a slow follower holds no memory and delays nobody.
 */
export function createPostFeed({ database, log, limitedBy }: PostFeedOptions): PostFeed {
  const tail = createLogTail({ database, log });

  /** Reads the generation together with the events, so that pruning in between cannot go unnoticed. */
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
        // The tail may have started meanwhile, at a later position.
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
