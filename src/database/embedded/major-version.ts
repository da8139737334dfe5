import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../platform/errors.ts';
import { requireOwnDataDir } from './data-dir.ts';

/** No other major version can read the data directories of the pinned PGlite. */
export const EMBEDDED_MAJOR = '18';

/** Only an older version of the service can read the data of an older PostgreSQL. */
const MOVES: Readonly<Record<string, string>> = {
  '17': 'run "npm run -s admin -- upgrade" of version 1.0.0 on DATA_DIR, then start this version again',
};
const OTHER_MOVE =
  'run "npm run -s admin -- database backup FILE" with the version that wrote the database. Then restore FILE with this version into a new DATA_DIR';

/** A restore writes to this directory until the restore is complete. */
export const RESTORING = 'restoring';

const dataIn = (dataDir: string) => join(dataDir, 'postgres');

/** @returns undefined if the version file is missing or damaged. */
function readMajor(data: string): string | undefined {
  const file = join(data, 'PG_VERSION');
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
  return /^\d+$/.test(found) ? found : undefined;
}

/** @throws {OperatorError} if another major version of PostgreSQL has written the data directory. */
export function requireSameMajor(dataDir: string): void {
  const found = readMajor(dataIn(dataDir));
  if (found === undefined || found === EMBEDDED_MAJOR) return;
  throw new OperatorError(
    `The embedded database in "${dataDir}" was written by PostgreSQL ${found}, but this version of the service contains PostgreSQL ${EMBEDDED_MAJOR}. Nothing was changed: ${MOVES[found] ?? OTHER_MOVE}.`,
  );
}

/**
 * Ensures that no empty database takes the place of an unfinished restore or upgrade.
 * @throws {OperatorError}
 */
export function requireFinished(dataDir: string): void {
  if (existsSync(dataIn(dataDir))) return;
  if (existsSync(join(dataDir, RESTORING)))
    throw new OperatorError(
      `A backup is being restored into DATA_DIR "${dataDir}", or the restore was interrupted. Wait, run "admin database restore" again, or delete the directory.`,
    );
  if (existsSync(join(dataDir, 'postgres.upgrade')))
    throw new OperatorError(
      `An upgrade of the embedded database in "${dataDir}" was interrupted. Nothing was changed: ${MOVES['17']}.`,
    );
}

/** A new data directory gets its name only once it is complete, so its version file cannot be missing. */
export function isIncomplete(dataDir: string): boolean {
  const data = dataIn(dataDir);
  return existsSync(data) && !existsSync(join(data, 'PG_VERSION'));
}

/**
 * The database may be incomplete or damaged.
 * @throws {OperatorError} if there is no database in the data directory.
 */
export function requireDatabase(dataDir: string): void {
  requireOwnDataDir(dataDir);
  requireFinished(dataDir);
  if (!existsSync(dataIn(dataDir)))
    throw new OperatorError(
      `There is no embedded database in "${dataDir}". Nothing was changed. Set DATA_DIR to the data directory of the service, or DATABASE_URL to its PostgreSQL.`,
    );
}
