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
  readonly columns: Readonly<Record<keyof Row & string, string>>;
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

/** The select list that returns a row of the entity. */
export function selectList<Row extends object>({ columns }: Entity<Row>): string {
  return Object.entries<string>(columns)
    .map(([property, column]) => `t.${column} AS "${property}"`)
    .join(', ');
}
