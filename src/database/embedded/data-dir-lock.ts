import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { requireShortPath, toDataDirError } from './data-dir.ts';

export class DataDirInUseError extends OperatorError {
  constructor(dataDir: string) {
    super(
      `The embedded database in "${dataDir}" is in use by another process. Stop that process, or set DATA_DIR to another directory.`,
    );
  }
}

/**
 * PGlite does not stop a second process from opening the directory, which would destroy the data. SQLite's
 * exclusive lock is an operating system lock on every platform, which never goes stale.
 * @throws {DataDirInUseError} if another process, or another database of this process, has the lock.
 * @throws {UnusableDataDirError} if the lock cannot be created.
 */
export function lockDataDir(dataDir: string) {
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(dataDir, 'lock'));
  } catch (error) {
    requireShortPath(dataDir, realpathSync(dataDir));
    throw toDataDirError(dataDir, error);
  }
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) throw new DataDirInUseError(dataDir);
    throw toDataDirError(dataDir, error);
  }
  return { release: () => lock.close() };
}

const RETRY_MS = 100;

/**
 * An admin command or a stopping server releases the lock within seconds.
 * @throws {DataDirInUseError}
 */
export async function acquireDataDirLock(dataDir: string, patienceMs: number, log: Logger) {
  const giveUpAt = performance.now() + patienceMs;
  for (let waits = false; ; ) {
    try {
      return lockDataDir(dataDir);
    } catch (error) {
      if (!(error instanceof DataDirInUseError) || performance.now() >= giveUpAt) throw error;
      if (!waits) log.emit('embedded_db.locked', { dataDir });
      waits = true;
    }
    await delay(RETRY_MS);
  }
}
