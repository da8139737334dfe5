import { gathered } from '../../platform/async.ts';
import type { Line } from '../../platform/fairness/fair-queue.ts';
import {
  advance,
  type CommittedBefore,
  type DecodedId,
  decodeEventId,
  type EventFilter,
  type EventName,
  type EventPlace,
  encodeEventId,
  encodeEventName,
  isAfter,
  type LogPosition,
} from './event.ts';
import { eventNameOf, findEvents, type KnownEvent, readFiltered, readFirst, readNow } from './event-log.ts';
import { createLogTail, type LogTailOptions, type MatchingEvents, type OnGrowth } from './tail.ts';

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
export interface EventFeed {
  /** Signals a possible commit, so that readers need not wait for the next poll. */
  wake(): void;
  /** The start of a new reader or, given its last event id, of a returning one. Throws DatabaseError. */
  open(lastEventId: string | undefined): Promise<FeedStart>;
  /** Events after a place, from memory. Undefined if memory may lack some of them. */
  recent(place: EventPlace, filter: EventFilter, limit: number): MatchingEvents | undefined;
  /**
   * Events after a place for an owner's readers, in order and without gaps. Where it ends at the place itself, that is the
   * end of the log. Throws DatabaseError, HistoryLostError.
   */
  read(place: EventPlace, wanted: Wanted, owner: string | undefined): Promise<MatchingEvents>;
  /**
   * The id from which a reader gets all that a snapshot does not show, by what the snapshot says of the log
   * (`SNAPSHOT_NAME`). Throws DatabaseError.
   */
  idOf(snapshotName: string | null): Promise<string>;
  /** Whether the newest events of the place's history are in memory, even if those after the place may not all be. */
  follows(place: EventPlace): boolean;
  /** A place further on, at the end of what is in memory: for readers who want nothing that lies between. */
  atEnd(place: EventPlace): EventPlace;
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

/** The log was pruned past a reader's place or restored. The reader's id is refused from then on. */
export class HistoryLostError extends Error {
  constructor() {
    super('the event log no longer continues from the place of the reader');
    this.name = 'HistoryLostError';
  }
}

export interface EventFeedOptions extends LogTailOptions {
  /** Reads of the log that do not come from memory take a place here. */
  readonly line: Line;
}

/** What was committed before a reader came, once its last event is found. Undefined if an id cannot say so. */
function beforeFrom(last: KnownEvent, distances: readonly bigint[]): CommittedBefore | undefined {
  const { history: _history, ...position } = last;
  const running: bigint[] = [];
  let xid = last.xid;
  for (const distance of distances) {
    xid -= distance;
    running.push(xid);
  }
  return xid > 0n ? { ...position, running } : undefined;
}

/** One tail reads the log for the whole process. Readers that have fallen behind read the log itself. */
export function createEventFeed({ database, log, line }: EventFeedOptions): EventFeed {
  const tail = createLogTail({ database, log });
  // Thousands may connect at once. The end of the log must be read after each of them came, but not for each.
  const present = gathered(async (_readers: readonly 'all'[]) => [await readNow(database, log)], {
    maxRunning: 1,
  });
  const findInLog = gathered((names: readonly EventName[]) => findEvents(database, names), {
    identityOf: ({ id, mark }) => `${id} ${mark}`,
  });

  /** The tail may not have noticed yet that the history is another one. */
  async function find(name: EventName, history: string): Promise<KnownEvent | undefined> {
    const recent = tail.find(name);
    return recent?.history === history ? recent : findInLog(name);
  }

  /** Where a returning reader is, or why it cannot go on from there. */
  async function placeOf(
    { event, before }: DecodedId,
    { history }: EventPlace,
  ): Promise<EventPlace | 'malformed' | 'expired'> {
    const known = await find(event, history);
    if (known === undefined) return 'expired';
    const last = before === undefined ? undefined : await find(before.event, history);
    // Lost in a failover, with the order of transactions since: what is left of those events is delivered.
    if (before === undefined || last === undefined || last.era < known.era)
      return { ...known, before: undefined };
    const rest = beforeFrom(last, before.distances);
    if (rest === undefined || !isAfter(rest, known)) return 'malformed';
    return { ...known, before: rest };
  }

  /** Reads the state of the log together with the events, so that pruning in between cannot go unnoticed. */
  async function readBehind(
    place: EventPlace,
    { filter, limit, looks }: Wanted,
    owner: string | undefined,
  ): Promise<MatchingEvents> {
    const { state, found, events, end } = await line.measured(owner, () =>
      readFiltered(database.owned(owner), place, filter, { limit, looks }),
    );
    if (!found || state?.history !== place.history) throw new HistoryLostError();
    return { events, end: end !== undefined && isAfter(end, place) ? end : place };
  }

  const recent = (place: EventPlace, filter: EventFilter, limit: number) =>
    tail.recent(place.history, place, limit, filter);

  async function readOn(
    place: EventPlace,
    wanted: Wanted,
    owner: string | undefined,
  ): Promise<MatchingEvents> {
    for (;;) {
      const known = recent(place, wanted.filter, wanted.limit);
      if (known !== undefined) return known;
      const found = await readBehind(place, wanted, owner);
      if (isAfter(found.end, place)) return found;
      // The tail starts at the end of the log. If it has started meanwhile, it knows better.
      if (tail.follows(place.history)) continue;
      tail.wake();
      return found;
    }
  }

  return {
    wake: tail.wake,
    async open(lastEventId) {
      const end = await present('all');
      const at = (place: EventPlace, failure: FeedStart['failure']): FeedStart => ({
        eventId: encodeEventId(place),
        place,
        now: end,
        failure,
      });
      if (lastEventId === undefined) return at(end, undefined);
      const decoded = decodeEventId(lastEventId);
      const place = decoded === undefined ? 'malformed' : await placeOf(decoded, end);
      return typeof place === 'string' ? at(end, place) : at(place, undefined);
    },
    recent,
    async read(place, wanted, owner) {
      const found = await readOn(place, wanted, owner);
      // Lost in a failover: other transactions may have got the ids by which those events are known.
      if (
        found.events.length > 0 &&
        place.before !== undefined &&
        (await findInLog(place.before)) === undefined
      )
        throw new HistoryLostError();
      return found;
    },
    async idOf(snapshotName) {
      if (snapshotName !== null) return encodeEventName(eventNameOf(snapshotName));
      // The log was not open: all that it keeps may be new.
      await readNow(database, log);
      return encodeEventName(await readFirst(database));
    },
    follows: ({ history }) => tail.follows(history),
    atEnd(place) {
      const end = tail.end(place.history);
      return end !== undefined && isAfter(end, place) ? advance(place, end) : place;
    },
    follow: tail.follow,
    close: tail.close,
  };
}
