import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../processes/process.ts';
import { admin } from '../processes/server.ts';
import { createEmptyDatabase } from './empty-database.ts';

/** For twenty runs on a busy machine. */
export const WAIT = { timeout: 900_000 };
export const ONE_LINE = /^[^\n]+\n$/;

/** An empty database that goes with the test. */
export async function createTarget(label: string): Promise<string> {
  const { url, drop } = await createEmptyDatabase('export', label);
  onTestFinished(drop);
  return url;
}

/** A folder with an embedded database without content. */
export async function migratedFolder(): Promise<string> {
  const dataDir = await temporaryFolder();
  expect((await admin(['database', 'migrate'], dataDir)).code).toBe(0);
  return dataDir;
}

export const copyTo = (dataDir: string, url: string, settings = {}) =>
  admin(['database', 'copy-to', url], dataDir, settings);
