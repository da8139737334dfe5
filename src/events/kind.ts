import { TRACE_SQL } from '../platform/db/traced-statements.ts';

/** The columns of a statement's rows that name what an event is about. */
export interface EventColumns {
  /** The row that the event belongs to, by which streams are filtered. */
  readonly root: string;
  /** The part of it that the event is about; none if it is about the row itself. */
  readonly part?: string;
  /** The account whose row that is, by which streams are filtered, too. Neither ever changes. */
  readonly owner: string;
}

/** A kind of events, declared by the module that writes them. */
export interface EventKind<Name extends string = string> {
  readonly name: Name;
  /**
   * The part of a statement that appends an event for each row of `rows`, such as the name of a CTE that returns what it
   * has written: the event is there exactly if the change is.
   */
  append(rows: string): string;
}

/** A kind whose events are about rows with these columns. */
export const eventKind = <Name extends string>(
  name: Name,
  { root, part = 'NULL', owner }: EventColumns,
): EventKind<Name> => ({
  name,
  append: (rows) =>
    `INSERT INTO events (kind, root_id, part_id, owner_id, trace) SELECT '${name}', ${root}, ${part}::uuid, ${owner}, ${TRACE_SQL} FROM ${rows}`,
});
