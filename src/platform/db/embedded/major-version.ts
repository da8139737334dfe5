import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../operator-error.ts';
import { isOldMajor, type OldMajor } from './old-engines.ts';

/** The major version of PostgreSQL that the pinned PGlite contains. Only it can read its data folders. */
export const EMBEDDED_MAJOR = '18';

/** How to move the data of an earlier version. */
const UPGRADE = '"npm run -s admin -- upgrade"';

/** The folders of a DATA_DIR that hold PostgreSQL's data, or will. */
export const foldersOf = (dataDir: string) => ({
  data: join(dataDir, 'postgres'),
  /** The whole data as the present version has it, which has yet to take the place of `data`. */
  upgraded: join(dataDir, 'postgres.upgrade'),
  /** The upgraded data while it is written. */
  draft: join(dataDir, 'postgres.upgrade.draft'),
  /** A copy of the old data while it is read. */
  copy: join(dataDir, 'postgres.upgrade.copy'),
  /** The old data, kept. */
  kept: (major: OldMajor) => join(dataDir, `postgres-${major}`),
});

/** The major version that has written the data; undefined if the file that says so is missing or damaged. */
export function majorOf(data: string): string | undefined {
  const file = join(data, 'PG_VERSION');
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return /^\d+$/.test(found) ? found : undefined;
}

/**
 * Throws OperatorError if another major version of PostgreSQL has written the folder, or if a move from one has yet to be
 * finished. Changes nothing.
 */
export function refuseOtherMajor(dataDir: string): void {
  const { data, upgraded } = foldersOf(dataDir);
  // An empty database must not be made in place of the one that waits there.
  if (!existsSync(data) && existsSync(upgraded))
    throw new OperatorError(
      `The embedded database in "${dataDir}" is being moved to PostgreSQL ${EMBEDDED_MAJOR}, which was interrupted: run ${UPGRADE} again to finish.`,
    );
  const found = majorOf(data);
  if (found === undefined || found === EMBEDDED_MAJOR) return;
  const cure = isOldMajor(found)
    ? `run ${UPGRADE}, which moves the data and keeps the folder of before`
    : `start the version that has written it on the folder, dump it (pg_dump -h "${dataDir}" -U postgres), and restore the dump into a new folder`;
  throw new OperatorError(
    `The embedded database in "${dataDir}" was written by PostgreSQL ${found}, but this version of the service contains PostgreSQL ${EMBEDDED_MAJOR}. Nothing was changed: ${cure}.`,
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
  const { data } = foldersOf(dataDir);
  return existsSync(data) && !existsSync(join(data, 'PG_VERSION'));
}

/** Throws OperatorError if there is no database in the folder, in whatever state. */
export function refuseNoDatabase(dataDir: string): void {
  const { data, upgraded } = foldersOf(dataDir);
  if (!existsSync(data) && !existsSync(upgraded))
    throw new OperatorError(
      `There is no embedded database in "${dataDir}": set DATA_DIR to the folder of the service.`,
    );
}
