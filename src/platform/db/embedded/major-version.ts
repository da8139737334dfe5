import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../operator-error.ts';

/** The major version of PostgreSQL that the pinned PGlite contains. Only it can read its data folders. */
export const EMBEDDED_MAJOR = '18';

/** Throws OperatorError if another major version of PostgreSQL has written the folder. Changes nothing. */
export function refuseOtherMajor(dataDir: string): void {
  const file = join(dataDir, 'postgres', 'PG_VERSION');
  if (!existsSync(file)) return;
  const found = readFileSync(file, 'utf8').trim();
  // An empty or broken file is a damaged folder, which the start reports.
  if (/^\d+$/.test(found) && found !== EMBEDDED_MAJOR)
    throw new OperatorError(
      `The embedded database in "${dataDir}" was written by PostgreSQL ${found}, but this version of the service contains PostgreSQL ${EMBEDDED_MAJOR}. Nothing was changed: start the version before on the folder, dump it (pg_dump -h "${dataDir}" -U postgres), and restore the dump into a new folder.`,
    );
}

/** Marks a folder that a backup is being restored into. */
export const RESTORING = 'restoring';

/** Throws OperatorError if a restore into the folder has not ended: what is in it is not whole. */
export function refuseRestoring(dataDir: string): void {
  if (existsSync(join(dataDir, RESTORING)))
    throw new OperatorError(
      `A backup is being restored into DATA_DIR "${dataDir}", or that was interrupted: run "admin restore" again, or remove the folder.`,
    );
}

/** Whether the folder lacks what every data folder has. A new one gets its name only once it is complete. */
export function isIncomplete(dataDir: string): boolean {
  const folder = join(dataDir, 'postgres');
  return existsSync(folder) && !existsSync(join(folder, 'PG_VERSION'));
}

/** Whether there is a database in the folder, in whatever state. */
export const hasDatabase = (dataDir: string): boolean => existsSync(join(dataDir, 'postgres'));
