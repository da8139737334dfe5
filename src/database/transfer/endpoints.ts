import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { PGlite } from '@electric-sql/pglite';
import type { ClientBase } from 'pg';
import { from, to } from 'pg-copy-streams';
import { toDatabaseError } from '../errors.ts';
import type { Parameter, Queryable, Statement } from '../statement.ts';

/** A connection to a database that is read or written as a whole. It throws what its driver throws. */
export interface Endpoint {
  /** The rows of a statement. Without `values`, the SQL may be several statements, of which the last has the rows. */
  rows<Row>(sql: string, values?: readonly Parameter[]): Promise<Row[]>;
  /** `COPY (query) TO STDOUT`, in memory: the caller asks for a piece at a time. */
  copyOut(query: string): Promise<Buffer>;
  /** `COPY … FROM STDIN`. `columns` is a table with its columns. */
  copyIn(columns: string, data: Buffer): Promise<void>;
}

/** A connection of `pg`. The embedded server does not take `copyIn`. */
export const pgEndpoint = (client: ClientBase): Endpoint => ({
  async rows(sql, values = []) {
    const results = [await client.query(sql, [...values])].flat();
    return results.at(-1)?.rows ?? [];
  },
  copyOut: (query) => buffer(client.query(to(`COPY (${query}) TO STDOUT`))),
  copyIn: (columns, data) =>
    pipeline(Readable.from([data]), client.query(from(`COPY ${columns} FROM STDIN`))),
});

/** A PGlite in this process, without a server. COPY has its file `/dev/blob`. */
export const pgliteEndpoint = (engine: PGlite): Endpoint => ({
  async rows<Row>(sql: string, values: readonly Parameter[] = []) {
    if (values.length > 0) return (await engine.query<Row>(sql, [...values])).rows;
    return ((await engine.exec(sql)).at(-1)?.rows ?? []) as Row[];
  },
  async copyOut(query) {
    const { blob } = await engine.query(`COPY (${query}) TO '/dev/blob'`);
    return Buffer.from((await blob?.arrayBuffer()) ?? new ArrayBuffer());
  },
  async copyIn(columns, data) {
    await engine.query(`COPY ${columns} FROM '/dev/blob'`, [], { blob: new Blob([Buffer.from(data)]) });
  },
});

/** Runs statements on a endpoint. */
export const queryableOnEndpoint = (endpoint: Endpoint): Queryable => ({
  query: <Row>({ text }: Statement<Row>, values: readonly Parameter[]) =>
    endpoint.rows<Row>(text, values).catch((error: unknown) => Promise.reject(toDatabaseError(error))),
});
