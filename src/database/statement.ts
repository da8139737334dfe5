import { hash } from 'node:crypto';
import type { Table } from '../generated/tables.ts';

export type RowOf<T> = T extends Table<infer Row> ? Row : never;

/**
 * Picks columns of a table by the properties of its rows. A column that a migration adds later stays hidden.
 */
export function pickColumns<Row extends object, Name extends string, Picked extends keyof Row & string>(
  { name, columns }: Table<Row, Name>,
  properties: readonly Picked[],
): Table<Pick<Row, Picked>, Name> {
  const picked = properties.map((property) => [property, columns[property]]);
  return { name, columns: Object.fromEntries(picked) };
}

/** `names` maps new properties to properties of the table. */
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

/**
 * The name is derived from the SQL, because PostgreSQL parses and plans a named statement once for each
 * connection.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never set. The property carries the row type. */
  readonly row?: Row;
}

export type Parameter =
  | string
  | number
  | boolean
  | bigint
  | Date
  | Uint8Array
  | null
  | readonly (string | number | null)[];

export interface Query<Row> {
  readonly statement: Statement<Row>;
  readonly values: readonly Parameter[];
}

export interface Queryable {
  /** @throws {DatabaseError} */
  query<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]>;
}

/**
 * PostgreSQL truncates names to 63 bytes. Clients influence the SQL, so 132 digest bits prevent collisions.
 */
const LABEL_LENGTH = 40;
const DIGEST_LENGTH = 22;

export function statement<Row>(label: string, text: string): Statement<Row> {
  const digest = hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
  return { name: `${label.slice(0, LABEL_LENGTH)}_${digest}`, text };
}

/** ISO 8601 adds a sign to years that PostgreSQL writes without a sign. */
export function formatTimestamp(date: Date): string {
  const text = date.toISOString();
  const year = date.getUTCFullYear();
  if (year >= 1 && year <= 9999) return text;
  const rest = text.slice(text.indexOf('-', 1));
  return year < 1 ? `${String(1 - year).padStart(4, '0')}${rest} BC` : `${year}${rest}`;
}

const quote = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** PostgreSQL's text format, except for bytes, which are sent in the binary format. */
export function encodeParameter(value: Parameter): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return formatTimestamp(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value === 'object')
    return `{${value.map((item) => (typeof item === 'string' ? quote(item) : (item ?? 'NULL'))).join()}}`;
  return String(value);
}
