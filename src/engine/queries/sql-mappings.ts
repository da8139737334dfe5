import type { Parameter } from '../../database/statement.ts';
import type { Context } from '../core/context.ts';
import type { EventFilter, EventRecord } from '../events/event.ts';
import type { Entity, ListRelation } from './entity.ts';
import type { Identified } from './loaders.ts';
import type { PageRange } from './pagination.ts';

/** A field that returns the row whose id is in a column of the parent row. */
export interface ToOneRelation {
  readonly kind: 'one';
  readonly entity: Entity<object>;
  /** The property of the parent row that holds the id. */
  readonly key: string;
}

/** A root field that returns the row with an id, or null. */
export interface RowMapping {
  readonly kind: 'row';
  readonly entity: Entity<object>;
  /** The id from the arguments or the caller; undefined if there is no valid id. */
  readonly id: (args: Record<string, unknown>, context: Context) => string | undefined;
  /** Whether the row is the caller's own account. */
  readonly own?: boolean;
}

/** A root field that returns nodes of any type by their ids: one of them or, if its type is a list, several. */
export interface NodesMapping {
  readonly kind: 'by-id';
  /** The ids in canonical form; undefined for one that names nothing. Throws BAD_USER_INPUT. */
  readonly ids: (args: Record<string, unknown>) => readonly (string | undefined)[];
}

/** A subscription field that shows the row which its events belong to. Events of deleted rows are left out. */
interface EventRowMapping {
  readonly shows: 'row';
  readonly entity: Entity<Identified>;
}

/** A subscription field that shows the events themselves. */
interface EventItselfMapping {
  readonly shows: 'event';
  /** Its rows are events: its columns are those of `EVENT_COLUMNS`. */
  readonly entity: Entity<object>;
  /** The row that resolvers get. */
  readonly row: (event: EventRecord) => object;
}

/** A subscription field. What it shows is the root value of the execution of an event. */
export type EventMapping = (EventRowMapping | EventItselfMapping) & {
  readonly kind: 'event';
  /** Which events. Throws BAD_USER_INPUT. */
  readonly filter: (args: Record<string, unknown>) => EventFilter;
};

/** A list field: at the root of all rows, elsewhere of the parent's rows. */
export interface ToManyRelation {
  readonly kind: 'many' | 'connection';
  readonly list: ListRelation<object>;
  /** The page for the arguments. Throws BAD_USER_INPUT. */
  readonly page: (args: Record<string, unknown>) => PageRange;
}

/** The SQL that stands for values, by their names. */
type SqlOf<Named> = { readonly [Name in keyof Named & string]-?: string };

/** The SQL of the caller: the id of the account, NULL for a caller without an account, and whether the account is an admin. */
export interface CallerSql {
  readonly id: string;
  readonly isAdmin: string;
}

/** A field whose value the database computes for a row. */
export interface ValueMapping<Row = Record<string, unknown>, Args = Record<string, unknown>> {
  readonly kind: 'value';
  /** A parameter for each argument of the field; required if it has any. Throws BAD_USER_INPUT. */
  readonly parameters?: (args: Args) => { readonly [Name in keyof Args]-?: Parameter };
  /** Whether the value depends on who asks. Such a field cannot be selected in subscriptions, which many share. */
  readonly ofCaller?: boolean;
  /**
   * The SQL expression of the value, of the row's properties in `columns` and its id, and of every parameter. Never NULL
   * where the field is not nullable: the row would be missing. `checkFields` calls it when the schema is built.
   */
  readonly expression: (row: SqlOf<Row>, args: SqlOf<Args>, caller: CallerSql) => string;
}

/** How a field reads what it returns. Declared with the field, used by loaders and look-ahead. */
export type SqlMapping<Row = Record<string, unknown>, Args = Record<string, unknown>> =
  | ToOneRelation
  | RowMapping
  | NodesMapping
  | EventMapping
  | ToManyRelation
  | ValueMapping<Row, Args>;

export function isToMany(mapping: SqlMapping): mapping is ToManyRelation {
  return mapping.kind === 'many' || mapping.kind === 'connection';
}
