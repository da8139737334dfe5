import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../../log.ts';

/** Somebody else holds the folder. */
export class FolderInUseError extends Error {
  constructor(dataDir: string) {
    super(
      `The embedded database in "${dataDir}" is in use by another process. Stop that one, or set DATA_DIR to another folder.`,
    );
    this.name = 'FolderInUseError';
  }
}

/** A folder that is this process's until it lets go of it. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the folder for this process. Nothing in PGlite stops a second process from opening it, which would destroy
 * the data. SQLite's exclusive lock is the operating system's own on every platform: it goes with the process,
 * however that dies, and leaves nothing stale behind.
 *
 * Throws FolderInUseError where another process (or another database of this one) has it.
 */
export function lockFolder(dataDir: string): FolderLock {
  const lock = new DatabaseSync(join(dataDir, 'lock'));
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) throw new FolderInUseError(dataDir);
    throw error;
  }
  return { release: () => lock.close() };
}

const RETRY_MS = 100;

/**
 * Takes the folder as `lockFolder` does, and waits up to `patienceMs` where somebody has it: an administration
 * command, or a server on its way out, lets go within seconds. Throws FolderInUseError.
 */
export async function takeFolder(dataDir: string, patienceMs: number, log: Logger): Promise<FolderLock> {
  const giveUpAt = performance.now() + patienceMs;
  for (let waits = false; ; ) {
    try {
      return lockFolder(dataDir);
    } catch (error) {
      if (!(error instanceof FolderInUseError) || performance.now() >= giveUpAt) throw error;
      if (!waits) log.info({ dataDir }, 'another process has the embedded database; waiting for it');
      waits = true;
    }
    await delay(RETRY_MS);
  }
}
