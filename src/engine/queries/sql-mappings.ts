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
  readonly key: string;
}

/** A root field that returns the row with an id, or with another unique value, or null. */
export interface RowMapping {
  readonly kind: 'row';
  readonly entity: Entity<object>;
  /** Returns the id or, with `find`, the other value. Undefined for a value that no row has. */
  readonly id: (args: Record<string, unknown>, context: Context) => string | undefined;
  /** Returns SQL of the id of the row that has the value of a parameter. */
  readonly find?: (parameter: string) => string;
  /** True if the row is the caller's account. */
  readonly own?: boolean;
}

/** A root field that returns one node of any type or, if its type is a list, several. */
export interface NodesMapping {
  readonly kind: 'by-id';
  /** Returns canonical ids; undefined for an id that names nothing. Throws BAD_USER_INPUT. */
  readonly ids: (args: Record<string, unknown>) => readonly (string | undefined)[];
}

/** A subscription field that shows the row of each event. Events of deleted rows are left out. */
interface EventRowMapping {
  readonly shows: 'row';
  readonly entity: Entity<Identified>;
}

interface EventItselfMapping {
  readonly shows: 'event';
  /** The columns of its rows are `EVENT_COLUMNS`. */
  readonly entity: Entity<object>;
  readonly row: (event: EventRecord) => object;
}

/** The root value of an event's execution is the row or the event. */
export type EventMapping = (EventRowMapping | EventItselfMapping) & {
  readonly kind: 'event';
  /** Throws BAD_USER_INPUT. */
  readonly filter: (args: Record<string, unknown>) => EventFilter;
};

/** A list of all rows for a root field, or of the parent's rows. */
export interface ToManyRelation {
  readonly kind: 'many' | 'connection';
  readonly list: ListRelation<object>;
  /** Throws BAD_USER_INPUT. */
  readonly page: (args: Record<string, unknown>) => PageRange;
}

type SqlOf<Named> = { readonly [Name in keyof Named & string]-?: string };

/** `id` is NULL for a caller without an account. */
export interface CallerSql {
  readonly id: string;
  readonly isAdmin: string;
}

export interface ValueMapping<Row = Record<string, unknown>, Args = Record<string, unknown>> {
  readonly kind: 'value';
  /** Required if the field has arguments. Throws BAD_USER_INPUT. */
  readonly parameters?: (args: Args) => { readonly [Name in keyof Args]-?: Parameter };
  /**
   * True if the value depends on the caller. Subscriptions cannot select such a field, because many callers share
   * them.
   */
  readonly ofCaller?: boolean;
  /**
   * Returns SQL of the row's properties in `columns`, the row's id, and every parameter. The value of a non-null
   * field must not be NULL, or the row would be missing. `checkFields` calls the function when the schema is built.
   */
  readonly expression: (row: SqlOf<Row>, args: SqlOf<Args>, caller: CallerSql) => string;
}

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
