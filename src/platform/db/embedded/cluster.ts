import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { FlushedFiles, flushEntries, settleFolder } from './flushed-files.ts';

/** PGlite turns fsync off, and the default wal_sync_method, fdatasync, does not exist in its runtime. */
const FLUSHED = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  '-c',
  'fsync=on',
  '-c',
  'wal_sync_method=fsync',
];

/** Creates the folder atomically. A process that crashes leaves a draft, which the next one replaces. */
async function createCluster(folder: string): Promise<void> {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  const db = await PGlite.create(draft);
  await db.close();
  settleFolder(draft);
  renameSync(draft, folder);
  flushEntries(dirname(folder));
}

/**
 * Opens the PostgreSQL data in a folder, or creates it. A commit is flushed to disk before it is answered.
 */
export async function openCluster(folder: string): Promise<PGlite> {
  if (!existsSync(folder)) await createCluster(folder);
  return PGlite.create({ fs: new FlushedFiles(folder), startParams: FLUSHED });
}
