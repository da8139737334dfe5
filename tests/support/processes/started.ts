import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { LogEventCode } from '../../../src/platform/log/log-events.ts';
import { createTestDatabase } from '../database/database.ts';
import { type Process, until } from './process.ts';

/** The address of a PostgreSQL database that goes with the test. */
export async function database(): Promise<string> {
  const { settings, drop } = await createTestDatabase();
  onTestFinished(drop);
  return settings.DATABASE_URL ?? '';
}

/** Runs SQL at an address. */
export async function run(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** A line of the log of a process. */
export interface Line {
  readonly level: number;
  readonly event: LogEventCode;
  readonly msg: string;
  readonly migrations?: readonly string[];
  readonly url: string;
  readonly setting?: string;
  readonly reason?: string;
  readonly hint?: string;
}

/** What it has logged so far of itself, and not of its clients. */
export const lines = ({ stdout }: Process): Line[] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event !== 'http.request' && event !== 'auth.credential_rejected');

export const events = (server: Process) => lines(server).map(({ event }) => event);

/** Resolves to the line of an event, once it is there so many times. */
export async function said(server: Process, event: LogEventCode, times = 1): Promise<Line> {
  return until(event, () => lines(server).filter((line) => line.event === event)[times - 1]);
}
