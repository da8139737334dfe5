/**
 * A position in the event log. Sequence numbers reflect allocation, not commit: after number 5, a reader may
 * still find 4 from a slower transaction. So the order is (transaction id, number), and readers stop at the
 * oldest running transaction: nothing can appear later before a position that they have passed.
 */
export interface LogPosition {
  readonly xid: bigint;
  readonly id: number;
}

export function isAfter(a: LogPosition, b: LogPosition): boolean {
  return a.xid > b.xid || (a.xid === b.xid && a.id > b.id);
}
