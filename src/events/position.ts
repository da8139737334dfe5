/**
 * A place in the event log. Sequence numbers follow allocation: a reader that has seen number 5 may later find 4, of a
 * transaction that took longer. So the order is (transaction id, number), and a reader looks only below the oldest
 * transaction still running: nothing smaller can appear behind what it has seen.
 */
export interface LogPosition {
  readonly xid: bigint;
  readonly id: number;
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
