import type { ClientBase } from 'pg';

/** A connection to a database that is written or read as a whole. Others throw what their driver throws. */
export interface Side {
  /** The rows of a statement. Without `values`, the SQL may be several statements, of which the last has the rows. */
  rows<Row>(sql: string, values?: readonly string[]): Promise<Row[]>;
}

/** Where data is read. */
export interface Source extends Side {
  /** What `COPY … TO STDOUT` gives. It is held in memory: the caller asks for little at a time. */
  copyOut(query: string): Promise<Uint8Array>;
}

/** Where data is written. */
export interface Target extends Side {
  /** `COPY … FROM STDIN` of what `copyOut` gave. `columns` is a table with its columns. */
  copyIn(columns: string, data: Uint8Array): Promise<void>;
}

/** A connection of `pg`. */
export function onClient(client: ClientBase): Side {
  return {
    async rows(sql, values = []) {
      const results = [await client.query(sql, [...values])].flat();
      return results.at(-1)?.rows ?? [];
    },
  };
}
