/** Converts the values of a column to and from JSON in look-ahead, for types that JSON does not have. */
export interface JsonCodec {
  /** The SQL that writes a value as JSON text, never null. */
  sql(value: string): string;
  /** The row's property from the JSON value. */
  parse(json: unknown): unknown;
}

/** A `timestamptz` column. In rows it is a Date. */
export interface InstantColumn {
  readonly name: string;
  /** The column that has the instant where this one is null. */
  readonly otherwise?: string | undefined;
  readonly codec: JsonCodec;
}

/** How a row property is declared: by its column's name, with a codec if its type needs one. */
export type ColumnOf<Value> = [Extract<Value, Date>] extends [never] ? string : InstantColumn;

/** Numbers are cheaper to write and parse than date strings. A Date has millisecond precision. */
const INSTANT: JsonCodec = {
  sql: (value) => `coalesce((extract(epoch FROM ${value}) * 1000)::bigint::text, 'null')`,
  parse: (milliseconds) => (typeof milliseconds === 'number' ? new Date(milliseconds) : null),
};

export const instant = (name: string, otherwise?: string): InstantColumn => ({
  name,
  otherwise,
  codec: INSTANT,
});

/** The value of a column, of the row under `alias`. */
export function columnSql(column: string | InstantColumn, alias: string): string {
  if (typeof column === 'string') return `${alias}.${column}`;
  const { name, otherwise } = column;
  return otherwise === undefined ? `${alias}.${name}` : `coalesce(${alias}.${name}, ${alias}.${otherwise})`;
}

export const codecOf = (column: string | InstantColumn | undefined): JsonCodec | undefined =>
  typeof column === 'object' ? column.codec : undefined;

/** The names of the computed fields that read a property, by the property. Filled when the schema is built. */
const readers = new Map<string, Set<string>>();

export function noteReader(property: string, field: string): void {
  readers.set(property, (readers.get(property) ?? new Set()).add(field));
}

/** Whether an operation with fields of these names reads a property. */
export const isRead = (property: string, names: ReadonlySet<string>): boolean =>
  names.has(property) || [...(readers.get(property) ?? [])].some((name) => names.has(name));
