import { createHash } from 'node:crypto';

/**
 * One SQL statement of the service. The name is made from the text, so that PostgreSQL parses and plans it once a
 * connection and the log can name it. `Row` is the shape of what it returns.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never present: carries the row's type. */
  readonly row?: Row;
}

/** A value that `pg` can send as a parameter. */
export type Parameter =
  | string
  | number
  | boolean
  | bigint
  | Date
  | Uint8Array
  | null
  | readonly (string | number)[];

/** Whatever statements can be run on: the pool, or the one connection of a unit of work. */
export interface Queryable {
  /** The rows of a statement. Throws DatabaseError. */
  query<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]>;
}

/** PostgreSQL cuts names at 63 bytes. Clients write texts: no two of theirs may come to one name, so 132 bits of it. */
const LABEL_LENGTH = 40;
const DIGEST_LENGTH = 22;

/** A statement from its text. */
export function statement<Row>(label: string, text: string): Statement<Row> {
  const digest = createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_LENGTH);
  return { name: `${label.slice(0, LABEL_LENGTH)}_${digest}`, text };
}
