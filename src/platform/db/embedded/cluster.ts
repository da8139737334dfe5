import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { FlushedFiles, flushEntries, settleFolder } from './flushed-files.ts';

/** PGlite turns fsync off and would flush by fdatasync, which its runtime does not have. */
const FLUSHED = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  '-c',
  'fsync=on',
  '-c',
  'wal_sync_method=fsync',
];

/** Makes the folder whole or not at all: a process that dies on the way leaves a draft, which the next one replaces. */
async function createCluster(folder: string): Promise<void> {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  const db = await PGlite.create(draft);
  await db.close();
  settleFolder(draft);
  renameSync(draft, folder);
  flushEntries(dirname(folder));
}

/** Opens the PostgreSQL data in a folder, and makes them where there are none. A commit is on the disk before it is answered. */
export async function openCluster(folder: string): Promise<PGlite> {
  if (!existsSync(folder)) await createCluster(folder);
  return PGlite.create({ fs: new FlushedFiles(folder), startParams: FLUSHED });
}
