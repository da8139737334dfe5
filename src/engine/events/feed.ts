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
import { createLogTail, type LogTailOptions, type MatchingEvents, type OnGrowth } from './tail.ts';

/** The start of a reader. */
export interface FeedStart {
  /** The id of the start position. */
  readonly eventId: string;
  /** The start position in the log. */
  readonly readerPosition: ReaderPosition;
  /** The current end of the log. Events up to it are replayed. */
  readonly now: LogPosition;
  /** Why the reader could not resume from its own id. It then starts from the current end. */
  readonly failure: 'malformed' | 'expired' | undefined;
}

/** The event log for readers at any number of positions. */
export interface EventFeed {
  /** Signals a possible commit, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, given its last event id, of a returning one. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /** Events after a position, from memory. Undefined if memory may lack some of them. */
  recent(readerPosition: ReaderPosition, filter: EventFilter, limit: number): MatchingEvents | undefined;
  /**
   * Events after a position for the readers of an owner, in order and without gaps. If the result ends at the position itself, that is the
   * end of the log. Throws DatabaseError, GenerationLostError.
   */
  read(readerPosition: ReaderPosition, wanted: Wanted, owner: string | undefined): Promise<MatchingEvents>;
  /**
   * The id from which a reader gets all that a snapshot does not show, by what the snapshot says of the log
   * (`SNAPSHOT_NAME`). Throws DatabaseError.
   */
  idOf(snapshotName: string | null): Promise<string>;
  /** True if the newest events of the position's generation are in memory, even if some events after the position are not. */
  follows(readerPosition: ReaderPosition): boolean;
  /** A later position, at the end of the events in memory, for readers whose filter matches none of the events between. */
  atEnd(readerPosition: ReaderPosition): ReaderPosition;
  /** Calls `onGrowth` when there may be more events. Returns a function that stops it. */
  follow(onGrowth: OnGrowth): () => void;
  close(): Promise<void>;
}

/** Which events to read. */
export interface Wanted {
  readonly filter: EventFilter;
  readonly limit: number;
  /** How many events to look at for them, of those that an index finds. */
  readonly looks: number;
}

/** The log was pruned past the position of a reader or restored. From then on, the event id of the reader is rejected. */
export class GenerationLostError extends Error {
  constructor() {
    super('the event log no longer continues from the position of the reader');
    this.name = 'GenerationLostError';
  }
}

export interface EventFeedOptions extends LogTailOptions {
  /** Reads of the log that do not come from memory take a slot here. */
  readonly queue: FairQueue;
}

/** What was committed before a reader came, once its last event is found. Undefined if an id cannot say so. */
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

/** One tail reads the log for the whole process. Readers that have fallen behind read the log itself. */
export function createEventFeed({ database, log, queue }: EventFeedOptions): EventFeed {
  const tail = createLogTail({ database, log });
  // Thousands may connect at once. The end of the log must be read after each of them came, but not for each.
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

  /** Finds the position of a returning reader, or the reason why the reader cannot resume. */
  async function findReaderPosition(
    { event, before }: DecodedId,
    { generation }: ReaderPosition,
  ): Promise<ReaderPosition | 'malformed' | 'expired'> {
    const known = await find(event, generation);
    if (known === undefined) return 'expired';
    const last = before === undefined ? undefined : await find(before.event, generation);
    // Lost in a failover, with the order of transactions since: what is left of those events is delivered.
    if (before === undefined || last === undefined || last.logEpoch < known.logEpoch)
      return { ...known, before: undefined };
    const rest = beforeFrom(last, before.distances);
    if (rest === undefined || !isAfter(rest, known)) return 'malformed';
    return { ...known, before: rest };
  }

  /** Reads the state of the log together with the events, so that pruning in between cannot go unnoticed. */
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
      // The tail starts at the end of the log. If it has started meanwhile, it knows better.
      if (tail.follows(readerPosition.generation)) continue;
      tail.wake();
      return found;
    }
  }

  return {
    wake: tail.wake,
    async open(lastEventId) {
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
    async read(readerPosition, wanted, owner) {
      const found = await readOn(readerPosition, wanted, owner);
      // Lost in a failover: other transactions may have got the ids by which those events are known.
      if (
        found.events.length > 0 &&
        readerPosition.before !== undefined &&
        (await findInLog(readerPosition.before)) === undefined
      )
        throw new GenerationLostError();
      return found;
    },
    async idOf(snapshotName) {
      if (snapshotName !== null) return encodeEventName(eventNameOf(snapshotName));
      // The log was not open: all that it keeps may be new.
      await readNow(database, log);
      return encodeEventName(await readFirst(database));
    },
    follows: ({ generation }) => tail.follows(generation),
    atEnd(readerPosition) {
      const end = tail.end(readerPosition.generation);
      return end !== undefined && isAfter(end, readerPosition)
        ? advance(readerPosition, end)
        : readerPosition;
    },
    follow: tail.follow,
    close: tail.close,
  };
}
