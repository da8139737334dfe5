import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** The file's modification time; 0 if it does not exist. */
export const writtenMs = (path: string) => (existsSync(path) ? statSync(path).mtimeMs : 0);

/** Does the work in one process at a time, by a lock of the operating system, which goes with the process. */
export function oneAtATime<T>(lockFile: string, waitMs: number, work: () => T): T {
  const lock = new DatabaseSync(lockFile, { timeout: waitMs });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return work();
  } finally {
    lock.close();
  }
}
