import type { Table } from '../../generated/tables.ts';

/** The type of the rows of a table. */
export type RowOf<T> = T extends Table<infer Row> ? Row : never;

/** Picks columns of a table by the properties of its rows. A column that is added to the table stays hidden. */
export function pickColumns<Row extends object, Name extends string, Picked extends keyof Row & string>(
  { name, columns }: Table<Row, Name>,
  properties: readonly Picked[],
): Table<Pick<Row, Picked>, Name> {
  const picked = properties.map((property) => [property, columns[property]]);
  return { name, columns: Object.fromEntries(picked) };
}

/** Renames the properties of the rows of a table. `names` has the property of the table for each new property. */
export function renameColumns<
  Row extends object,
  Name extends string,
  const Names extends Readonly<Record<string, keyof Row & string>>,
>(
  { name, columns }: Table<Row, Name>,
  names: Names,
): Table<{ readonly [Property in keyof Names]: Row[Names[Property]] }, Name> {
  const renamed = Object.entries(names).map(([property, source]) => [property, columns[source]]);
  return { name, columns: Object.fromEntries(renamed) };
}

/** Formats the select list of a table, such as `id AS "id", user_id AS "userId"`. */
export function formatColumns({ columns }: Table<object>, alias?: string): string {
  const prefix = alias === undefined ? '' : `${alias}.`;
  return Object.entries<string>(columns)
    .map(([property, column]) => `${prefix}${column} AS "${property}"`)
    .join(', ');
}
