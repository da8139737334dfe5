import { type ColumnOf, columnSql, type InstantColumn } from './column.ts';

/** The FROM clause of a list and the columns that order it. The row's table has the alias `t`. */
export interface Source {
  readonly from: string;
  readonly createdAt: string;
  readonly id: string;
}

/** A table as the schema sees it. Every row has an id and a creation time; lists are ordered by the two. */
export interface Entity<Row extends object, Name extends string = string> {
  readonly name: Name;
  /** Row property → column of the table. */
  readonly columns: { readonly [Property in keyof Row & string]: ColumnOf<Row[Property]> };
  readonly source: Source;
  /** Properties with long texts. */
  readonly texts?: readonly string[];
  /** The rows that have a value, in the same order and from one index. */
  readonly narrowed?: Source & {
    /** The FROM clause if only the keys of the rows are needed. */
    readonly keys: string;
    /** The column to compare. */
    readonly value: string;
  };
}

/** A list in the schema: all rows of an entity or, with `parent`, the rows of a parent. */
export interface ListEdge<Row extends object> {
  readonly name: string;
  readonly entity: Entity<Row>;
  /** The column that holds the parent's id. */
  readonly parent?: string;
  readonly order: 'newest-first' | 'oldest-first';
}

/** The columns of an entity by property, for callers that do not know its row type. */
export function columnsOf({ columns }: Entity<object>): Readonly<Record<string, string | InstantColumn>> {
  return columns;
}

/** The select list of these properties of an entity; by default, of all. */
export function selectList(entity: Entity<object>, properties?: Iterable<string>): string {
  const columns = columnsOf(entity);
  return [...(properties ?? Object.keys(columns))]
    .map((property) => `${columnSql(columns[property] ?? property, 't')} AS "${property}"`)
    .join(', ');
}
