/** A `timestamptz` column. In rows it is a Date. */
export interface InstantColumn {
  readonly name: string;
  /** The column that has the instant where this one is null. */
  readonly otherwise?: string | undefined;
}

/** How a row property is declared: by its column's name, or as an instant. */
export type ColumnOf<Value> = [Extract<Value, Date>] extends [never] ? string : InstantColumn;

export const instant = (name: string, otherwise?: string): InstantColumn => ({ name, otherwise });

/** The value of a column, of the row under `alias`. */
export function columnSql(column: string | InstantColumn, alias: string): string {
  if (typeof column === 'string') return `${alias}.${column}`;
  const { name, otherwise } = column;
  return otherwise === undefined ? `${alias}.${name}` : `coalesce(${alias}.${name}, ${alias}.${otherwise})`;
}

/** The names of the computed fields that read a property, by the property. Filled when the schema is built. */
const readers = new Map<string, Set<string>>();

export function noteReader(property: string, field: string): void {
  readers.set(property, (readers.get(property) ?? new Set()).add(field));
}

/** Whether an operation with fields of these names reads a property. */
export const isRead = (property: string, names: ReadonlySet<string>): boolean =>
  names.has(property) || [...(readers.get(property) ?? [])].some((name) => names.has(name));
