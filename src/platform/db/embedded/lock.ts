import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Somebody else holds the folder. */
export class FolderInUseError extends Error {
  constructor(dataDir: string) {
    super(
      `The embedded database in "${dataDir}" is in use by another process. Stop that one, or set DATA_DIR to another folder.`,
    );
    this.name = 'FolderInUseError';
  }
}

/**
 * Takes the folder for this process. Nothing in PGlite stops a second process from opening it, which would destroy
 * the data. SQLite's exclusive lock is the operating system's own on every platform: it goes with the process,
 * however that dies, and leaves nothing stale behind.
 *
 * Throws FolderInUseError where another process (or another database of this one) has it.
 */
export function lockFolder(dataDir: string): { release(): void } {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
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
