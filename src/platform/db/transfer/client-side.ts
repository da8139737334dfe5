import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from, to } from 'pg-copy-streams';
import { onClient, type Source, type Target } from './side.ts';

/** Reads by a connection of `pg`. */
export const sourceOn = (client: Client): Source => ({
  ...onClient(client),
  copyOut: (query) => buffer(client.query(to(`COPY (${query}) TO STDOUT`))),
});

/** Writes by a connection of `pg`. */
export const targetOn = (client: Client): Target => ({
  ...onClient(client),
  copyIn: (columns, data) =>
    pipeline(Readable.from([data]), client.query(from(`COPY ${columns} FROM STDIN`))),
});
