import { CommittedBeforeStart, type Run } from './committed-before-start.ts';
import type { LogEvent } from './log.ts';
import type { LogPosition } from './position.ts';

/** Where a reader is: a position in a generation of the log, and later events to skip. Never changed. */
export interface EventPlace extends LogPosition {
  /** Eight bytes in hexadecimal. */
  readonly generation: string;
  /** Numbers of events after the position that were committed before the reader first connected. */
  readonly early: readonly Run[];
}

/** The place after an event, and whether the reader must not get the event. */
interface Passed {
  readonly place: EventPlace;
  readonly skipped: boolean;
}

/** Moves past the next event of the log. */
export function pass({ generation, early }: EventPlace, { position }: LogEvent): Passed {
  if (early.length === 0) return { place: { generation, ...position, early }, skipped: false };
  const rest = new CommittedBeforeStart(early);
  const skipped = rest.pass(position.id);
  return { place: { generation, ...position, early: rest.runs }, skipped };
}
