import { isAfter, type LogEvent, type LogPosition, type MarkedPosition } from './position.ts';

/**
 * What was committed before a reader came and could not be read yet, because an older transaction was still running: all
 * events up to this one, except those of the transactions that were running.
 */
export interface CommittedBefore extends MarkedPosition {
  /** Transactions that were running then, all older than this event. In descending order. */
  readonly running: readonly bigint[];
}

/** Where a reader is. Never changed. */
export interface EventPlace extends MarkedPosition {
  /** The history to which the position belongs (`LogState.history`). */
  readonly history: string;
  /** Later events that the reader must not get; undefined once they are behind it. */
  readonly before: CommittedBefore | undefined;
}

/** The place after an event, and whether the reader must not get the event. */
interface Passed {
  readonly place: EventPlace;
  readonly skipped: boolean;
}

function restOf(before: CommittedBefore | undefined, at: LogPosition): CommittedBefore | undefined {
  if (before === undefined || !isAfter(before, at)) return undefined;
  const running = before.running.filter((xid) => xid >= at.xid);
  return running.length === before.running.length ? before : { ...before, running };
}

/** The place at a later position of the log, past events that are of no interest to the reader. */
export const advance = ({ history, before }: EventPlace, position: MarkedPosition): EventPlace => ({
  history,
  ...position,
  before: restOf(before, position),
});

/** Moves past the next event of the log. */
export function pass({ history, before }: EventPlace, { position }: LogEvent): Passed {
  const skipped =
    before !== undefined && !isAfter(position, before) && !before.running.includes(position.xid);
  return { place: advance({ history, before, ...position }, position), skipped };
}
