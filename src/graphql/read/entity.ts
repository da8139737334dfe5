import { type ColumnOf, columnName, type InstantColumn } from './column.ts';

/** Where the rows of a list come from, and the columns of their order. The row's table goes under the alias `t`. */
export interface Source {
  readonly from: string;
  readonly createdAt: string;
  readonly id: string;
}

/** A table as the schema's objects see it: every object has an id and a time of creation, and lists follow the two. */
export interface Entity<Row extends object> {
  readonly name: string;
  /** Row property → column of the table. */
  readonly columns: { readonly [Property in keyof Row & string]: ColumnOf<Row[Property]> };
  readonly source: Source;
  /** Properties that can be long. */
  readonly texts?: readonly string[];
  /** The rows that carry a tag, in the same order and from one index: of `keys` alone, where they need not be read. */
  readonly byTag?: Source & {
    readonly keys: string;
    /** The column to compare. */
    readonly tag: string;
  };
}

/** A list that the schema offers: all rows of an entity or, with `parent`, those that belong to a parent row. */
export interface ListEdge<Row extends object> {
  readonly name: string;
  readonly entity: Entity<Row>;
  /** The column that holds the parent's id. */
  readonly parent?: string;
  readonly order: 'newest-first' | 'oldest-first';
}

/** The columns of an entity by property, for those who do not know its rows. */
export function columnsOf({ columns }: Entity<object>): Readonly<Record<string, string | InstantColumn>> {
  return columns;
}

/** The select list that returns these properties of a row of the entity; all of them unless told otherwise. */
export function selectList(entity: Entity<object>, properties?: Iterable<string>): string {
  const columns = columnsOf(entity);
  return [...(properties ?? Object.keys(columns))]
    .map((property) => `t.${columnName(columns[property] ?? property)} AS "${property}"`)
    .join(', ');
}
