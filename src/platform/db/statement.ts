import { hash } from 'node:crypto';
import type { Client } from 'pg';
import { toDatabaseError } from './errors.ts';

/**
 * An SQL statement. The name is derived from the text: PostgreSQL parses and plans a named statement once per
 * connection, and the log can refer to it. `Row` is the type of the rows it returns.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Never set: carries the row type. */
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
  | readonly (string | number | null)[];

/** A statement with its parameters. */
export interface Query<Row> {
  readonly statement: Statement<Row>;
  readonly values: readonly Parameter[];
}

/** Runs statements: the pool, or the connection of a unit of work. */
export interface Queryable {
  /** The rows of a statement. Throws DatabaseError. */
  query<Row>(statement: Statement<Row>, values: readonly Parameter[]): Promise<Row[]>;
}

/** PostgreSQL truncates names to 63 bytes. Clients shape the text: 132 digest bits prevent collisions. */
const LABEL_LENGTH = 40;
const DIGEST_LENGTH = 22;

/** A statement from its text. */
export function statement<Row>(label: string, text: string): Statement<Row> {
  const digest = hash('sha256', text, 'base64url').slice(0, DIGEST_LENGTH);
  return { name: `${label.slice(0, LABEL_LENGTH)}_${digest}`, text };
}

/** Runs statements on a connection that the caller owns. */
export const queryableOn = (client: Pick<Client, 'query'>): Queryable => ({
  query: async <Row>({ text }: Statement<Row>, values: readonly Parameter[]) => {
    try {
      return (await client.query(text, [...values])).rows as Row[];
    } catch (error) {
      throw toDatabaseError(error);
    }
  },
});
