import pg from 'pg';
import { onTestFinished } from 'vitest';
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
  readonly msg: string;
  readonly migrations?: readonly string[];
  readonly origin: string;
  readonly setting?: string;
  readonly reason?: string;
  readonly check?: string;
}

/** What it has logged so far of itself, and not of its clients. */
export const lines = ({ stdout }: Process): Line[] =>
  stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg !== 'request' && msg !== 'failed credential');

export const messages = (server: Process) => lines(server).map(({ msg }) => msg);

/** Resolves to the line with a message, once it is there so many times. */
export async function said(server: Process, message: string, times = 1): Promise<Line> {
  return until(message, () => lines(server).filter(({ msg }) => msg === message)[times - 1]);
}
