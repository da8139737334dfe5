import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { PGlite } from '@electric-sql/pglite';
import type { ClientBase } from 'pg';
import { from, to } from 'pg-copy-streams';
import { toDatabaseError } from '../errors.ts';
import type { Parameter, Queryable, Statement } from '../statement.ts';

/** Methods throw the errors of the driver. */
export interface Endpoint {
  /** Without `values`, the SQL may have several statements, and the last statement returns the rows. */
  rows<Row>(sql: string, values?: readonly Parameter[]): Promise<Row[]>;
  /** The result is in memory, so the caller requests one piece at a time. */
  copyOut(query: string): Promise<Buffer>;
  /** `columns` is a table with its columns. */
  copyIn(columns: string, data: Buffer): Promise<void>;
}

/** The embedded server does not support `copyIn` over a connection of `pg`. */
export const pgEndpoint = (client: ClientBase): Endpoint => ({
  async rows(sql, values = []) {
    const results = [await client.query(sql, [...values])].flat();
    return results.at(-1)?.rows ?? [];
  },
  copyOut: (query) => buffer(client.query(to(`COPY (${query}) TO STDOUT`))),
  copyIn: (columns, data) =>
    pipeline(Readable.from([data]), client.query(from(`COPY ${columns} FROM STDIN`))),
});

/** COPY uses PGlite's file `/dev/blob`. */
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

export const queryableOn = (endpoint: Endpoint): Queryable => ({
  query: <Row>({ text }: Statement<Row>, values: readonly Parameter[]) =>
    endpoint.rows<Row>(text, values).catch((error: unknown) => Promise.reject(toDatabaseError(error))),
});
