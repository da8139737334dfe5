import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../platform/config.ts';
import { demoFile } from '../platform/db/demo-mark.ts';
import { lockFolder } from '../platform/db/embedded/lock.ts';
import { OperatorError } from '../platform/operator-error.ts';

/** The folder of the embedded database that development has seeded. Throws OperatorError for any other. */
function seededFolder({ environment, database }: Config): string {
  if (environment !== 'development')
    throw new OperatorError(
      `NODE_ENV is ${environment}: only development has demo data. Nothing was deleted.`,
    );
  if (database.kind !== 'embedded')
    throw new OperatorError(
      'DATABASE_URL is set: demo:reset deletes the embedded database alone. Nothing was deleted.',
    );
  const { dataDir } = database;
  // Written by a first start in development, and by nothing else.
  if (!existsSync(demoFile(dataDir)))
    throw new OperatorError(
      `There is no demo data in "${dataDir}": it has no file demo.json. Nothing was deleted.`,
    );
  return dataDir;
}

/**
 * Deletes the embedded database of development with its credentials, so that the next start begins with the demo data
 * alone. Returns what is gone. Throws OperatorError, FolderInUseError.
 */
export function resetDemo(config: Config): readonly string[] {
  const dataDir = seededFolder(config);
  const lock = lockFolder(dataDir);
  try {
    // The mark of the folder goes last: a reset that was cut off can be repeated.
    const deleted = [join(dataDir, 'postgres'), demoFile(dataDir)];
    for (const path of deleted) rmSync(path, { recursive: true, force: true });
    return deleted;
  } finally {
    lock.release();
  }
}
