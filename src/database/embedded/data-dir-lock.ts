import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { folderError } from './data-dir.ts';

/** Another process holds the folder. */
export class FolderInUseError extends OperatorError {
  constructor(dataDir: string) {
    super(
      `The embedded database in "${dataDir}" is in use by another process. Stop that process, or set DATA_DIR to another folder.`,
    );
  }
}

/**
 * Locks the folder for this process. PGlite does not stop a second process from opening it, which would
 * destroy the data. SQLite's exclusive lock is an operating system lock on every platform: it is released
 * however the process dies, and never goes stale.
 *
 * Throws FolderInUseError if another process, or another database of this one, holds it; UnusableFolderError if
 * the lock cannot be created.
 */
export function lockFolder(dataDir: string) {
  let lock: DatabaseSync;
  try {
    lock = new DatabaseSync(join(dataDir, 'lock'));
  } catch (error) {
    throw folderError(dataDir, error);
  }
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) throw new FolderInUseError(dataDir);
    throw folderError(dataDir, error);
  }
  return { release: () => lock.close() };
}

const RETRY_MS = 100;

/**
 * Like `lockFolder`, but waits up to `patienceMs` for the lock: an admin command or a stopping server
 * releases it within seconds. Throws FolderInUseError.
 */
export async function takeFolder(dataDir: string, patienceMs: number, log: Logger) {
  const giveUpAt = performance.now() + patienceMs;
  for (let waits = false; ; ) {
    try {
      return lockFolder(dataDir);
    } catch (error) {
      if (!(error instanceof FolderInUseError) || performance.now() >= giveUpAt) throw error;
      if (!waits) log.info({ dataDir }, 'another process is using the embedded database; waiting for it');
      waits = true;
    }
    await delay(RETRY_MS);
  }
}
