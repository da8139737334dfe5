import type { Context } from '../context.ts';
import type { Page } from '../pagination/arguments.ts';
import type { Entity, ListEdge } from '../read/entity.ts';

/** A field that a row's column leads on from: the row whose id the column holds. */
export interface ToOneEdge {
  readonly kind: 'one';
  readonly entity: Entity<object>;
  /** The property of the parent row that holds the id. */
  readonly key: string;
}

/** A root field that returns the row with an id, or null. */
export interface RowEdge {
  readonly kind: 'row';
  readonly entity: Entity<object>;
  /** The id that the arguments or the caller name; undefined where they name nothing. */
  readonly id: (args: Record<string, unknown>, context: Context) => string | undefined;
}

/** A list field: of all rows at the root, of the parent's elsewhere. */
export interface ToManyEdge {
  readonly kind: 'many' | 'connection';
  readonly list: ListEdge<object>;
  /** The page that the arguments name. Throws BAD_USER_INPUT. */
  readonly page: (args: Record<string, unknown>) => Page;
}

/** A field with values that one expression reads. */
export interface ValuesEdge {
  readonly kind: 'values';
  /** The SQL of the values of the row that goes under `alias`: compact JSON as text, never null. */
  readonly sql: (alias: string) => string;
}

/** How a field reads what it returns: beside its type, for loaders and look-ahead alike. */
export type Edge = ToOneEdge | RowEdge | ToManyEdge | ValuesEdge;

export function isToMany(edge: Edge): edge is ToManyEdge {
  return edge.kind === 'many' || edge.kind === 'connection';
}

/** The property of a row under which a field finds what was read for it, by the field's name in the response. */
export function aheadKey(responseName: string | number): string {
  return `$${responseName}`;
}
