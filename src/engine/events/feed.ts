import { batchReads } from '../../platform/async.ts';
import type { FairQueue } from '../../platform/fairness/fair-queue.ts';
import {
  advance,
  type CommittedBefore,
  type DecodedId,
  decodeEventId,
  type EventFilter,
  type EventName,
  encodeEventId,
  encodeEventName,
  isAfter,
  type LogPosition,
  type ReaderPosition,
} from './event.ts';
import { eventNameOf, findEvents, type KnownEvent, readFiltered, readFirst, readNow } from './event-log.ts';
import { createLogTail, type LogTailOptions, type MatchingEvents } from './tail.ts';

export interface FeedStart {
  readonly eventId: string;
  readonly readerPosition: ReaderPosition;
  /** Events up to this position are replayed. */
  readonly now: LogPosition;
  /** A reader that cannot resume from its id starts at the current end. */
  readonly failure: 'malformed' | 'expired' | undefined;
}

export interface Wanted {
  readonly filter: EventFilter;
  readonly limit: number;
  /** The maximum number of events to examine, of the events that an index finds. */
  readonly looks: number;
}

/**
 * The log was pruned past the position of a reader, or restored. The event id of the reader is rejected from then on.
 */
export class GenerationLostError extends Error {
  constructor() {
    super('the event log no longer continues from the position of the reader');
    this.name = 'GenerationLostError';
  }
}

export interface EventFeedOptions extends LogTailOptions {
  /** Reads of the log that memory cannot serve take a slot here. */
  readonly queue: FairQueue;
}

/** Undefined if the distances are impossible. */
function beforeFrom(last: KnownEvent, distances: readonly bigint[]): CommittedBefore | undefined {
  const { generation: _generation, ...position } = last;
  const running: bigint[] = [];
  let xid = last.xid;
  for (const distance of distances) {
    xid -= distance;
    running.push(xid);
  }
  return xid > 0n ? { ...position, running } : undefined;
}

/** One tail reads the log for the whole process. Lagging readers read the log themselves. */
export function createEventFeed({ database, log, queue }: EventFeedOptions) {
  const tail = createLogTail({ database, log });
  // Thousands of readers may connect at the same time. A batch reads the end of the log once, after all its readers
  // came.
  const present = batchReads(async (_readers: readonly 'all'[]) => [await readNow(database, log)], {
    maxRunning: 1,
  });
  const findInLog = batchReads((names: readonly EventName[]) => findEvents(database, names), {
    identityOf: ({ id, checksum }) => `${id} ${checksum}`,
  });

  /** The tail may not have noticed yet that the generation has changed. */
  async function find(name: EventName, generation: string): Promise<KnownEvent | undefined> {
    const recent = tail.find(name);
    return recent?.generation === generation ? recent : findInLog(name);
  }

  async function findReaderPosition(
    { event, before }: DecodedId,
    { generation }: ReaderPosition,
  ): Promise<ReaderPosition | 'malformed' | 'expired'> {
    const known = await find(event, generation);
    if (known === undefined) return 'expired';
    const last = before === undefined ? undefined : await find(before.event, generation);
    // A failover lost the event and the order of later transactions, so the remaining events are delivered.
    if (before === undefined || last === undefined || last.logEpoch < known.logEpoch)
      return { ...known, before: undefined };
    const rest = beforeFrom(last, before.distances);
    if (rest === undefined || !isAfter(rest, known)) return 'malformed';
    return { ...known, before: rest };
  }

  /** One statement reads events and log state, so pruning cannot go unnoticed in between. */
  async function readBehind(
    readerPosition: ReaderPosition,
    { filter, limit, looks }: Wanted,
    owner: string | undefined,
  ): Promise<MatchingEvents> {
    const { state, found, events, end } = await queue.measured(owner, () =>
      readFiltered(database.owned(owner), readerPosition, filter, { limit, looks }),
    );
    if (!found || state?.generation !== readerPosition.generation) throw new GenerationLostError();
    return { events, end: end !== undefined && isAfter(end, readerPosition) ? end : readerPosition };
  }

  /** Reads from memory. Undefined if some of the events may not be in memory. */
  const recent = (readerPosition: ReaderPosition, filter: EventFilter, limit: number) =>
    tail.recent(readerPosition.generation, readerPosition, limit, filter);

  async function readOn(
    readerPosition: ReaderPosition,
    wanted: Wanted,
    owner: string | undefined,
  ): Promise<MatchingEvents> {
    for (;;) {
      const known = recent(readerPosition, wanted.filter, wanted.limit);
      if (known !== undefined) return known;
      const found = await readBehind(readerPosition, wanted, owner);
      if (isAfter(found.end, readerPosition)) return found;
      // The tail starts at the end of the log. If the tail has started during the read, it has newer events.
      if (tail.follows(readerPosition.generation)) continue;
      tail.wake();
      return found;
    }
  }

  return {
    /** Signals a possible commit, so that readers need not wait for the next poll. */
    wake: tail.wake,
    /** @throws {DatabaseError} */
    async open(lastEventId: string | undefined): Promise<FeedStart> {
      const end = await present('all');
      const at = (readerPosition: ReaderPosition, failure: FeedStart['failure']): FeedStart => ({
        eventId: encodeEventId(readerPosition),
        readerPosition,
        now: end,
        failure,
      });
      if (lastEventId === undefined) return at(end, undefined);
      const decoded = decodeEventId(lastEventId);
      const readerPosition = decoded === undefined ? 'malformed' : await findReaderPosition(decoded, end);
      return typeof readerPosition === 'string' ? at(end, readerPosition) : at(readerPosition, undefined);
    },
    recent,
    /**
     * Reads events in order and without gaps. A result that ends at the position means the end of the log.
     * @throws {DatabaseError}
     * @throws {GenerationLostError}
     */
    async read(
      readerPosition: ReaderPosition,
      wanted: Wanted,
      owner: string | undefined,
    ): Promise<MatchingEvents> {
      const found = await readOn(readerPosition, wanted, owner);
      // A failover may have lost these events, and other transactions may have received their ids.
      if (
        found.events.length > 0 &&
        readerPosition.before !== undefined &&
        (await findInLog(readerPosition.before)) === undefined
      )
        throw new GenerationLostError();
      return found;
    },
    /**
     * Encodes the id from which a reader gets every event that a snapshot does not show.
     * @throws {DatabaseError}
     */
    async idOf(snapshotName: string | null): Promise<string> {
      if (snapshotName !== null) return encodeEventName(eventNameOf(snapshotName));
      // The log was not open, so all its events may be newer than the snapshot.
      await readNow(database, log);
      return encodeEventName(await readFirst(database));
    },
    /** True if the newest events of the generation are in memory, even if earlier ones are missing. */
    follows: ({ generation }: ReaderPosition): boolean => tail.follows(generation),
    /** Moves a position to the end of the events in memory. The reader's filter must match none of the events between. */
    atEnd(readerPosition: ReaderPosition): ReaderPosition {
      const end = tail.end(readerPosition.generation);
      return end !== undefined && isAfter(end, readerPosition)
        ? advance(readerPosition, end)
        : readerPosition;
    },
    /** @returns a function that stops the calls */
    follow: tail.follow,
    close: tail.close,
  };
}

export type EventFeed = ReturnType<typeof createEventFeed>;
