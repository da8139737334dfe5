/** How the values of a column travel in the JSON that look-ahead reads, where that is not as JSON has them. */
export interface JsonCodec {
  /** The SQL of the JSON of a value, as text that is never null. */
  sql(value: string): string;
  /** The row's property, from what the JSON has. */
  parse(json: unknown): unknown;
}

/** A `timestamptz` column, which is a Date in rows. */
export interface InstantColumn {
  readonly name: string;
  readonly codec: JsonCodec;
}

/** How a property of a row is declared: by its column's name, or with a codec where its type needs one. */
export type ColumnOf<Value> = [Extract<Value, Date>] extends [never] ? string : InstantColumn;

/** A number costs less to write and to read than a date. Milliseconds are all that a Date holds. */
const INSTANT: JsonCodec = {
  sql: (value) => `coalesce((extract(epoch FROM ${value}) * 1000)::bigint::text, 'null')`,
  parse: (milliseconds) => (typeof milliseconds === 'number' ? new Date(milliseconds) : null),
};

/** Declares the column of a Date. */
export const instant = (name: string): InstantColumn => ({ name, codec: INSTANT });

export const columnName = (column: string | InstantColumn): string =>
  typeof column === 'string' ? column : column.name;

export const codecOf = (column: string | InstantColumn | undefined): JsonCodec | undefined =>
  typeof column === 'object' ? column.codec : undefined;
