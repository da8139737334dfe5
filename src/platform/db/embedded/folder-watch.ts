import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { adviceOf, MIN_FREE_BYTES, toMebibytes } from './folder-error.ts';

/** What keeps a running service from its folder, in words for the operator. */
export interface FolderProblem {
  /** What is wrong. */
  readonly reason: string;
  /** What to do. */
  readonly check: string;
}

/**
 * What this user may still write on the disk of `path`, in bytes; undefined if the file system does not tell its size,
 * as some network file systems do not. Throws the error of the operating system.
 */
export function freeBytes(path: string): number | undefined {
  const { bavail, blocks, bsize } = statfsSync(path);
  return blocks > 0 ? bavail * bsize : undefined;
}

/** Where the data is. It may be a disk of its own. */
const dataOf = (dataDir: string) => join(dataDir, 'postgres');

/**
 * What is wrong with the folder of a running embedded database: it has gone, cannot be written, or is nearly full (less
 * than MIN_FREE_BYTES). Undefined if nothing is. A few system calls; writes nothing, and never throws.
 */
export function folderProblem(dataDir: string): FolderProblem | undefined {
  const data = dataOf(dataDir);
  try {
    if (!existsSync(data))
      return {
        reason: `the data of DATA_DIR "${dataDir}" has gone`,
        check: 'mount its disk or put the folder back, then restart the service',
      };
    for (const path of [dataDir, data]) accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const free = freeBytes(data);
    if (free === undefined || free >= MIN_FREE_BYTES) return undefined;
    return {
      reason: `the disk of DATA_DIR "${dataDir}" has ${toMebibytes(free)} MiB left`,
      check: 'free some space: without any, nothing can be written',
    };
  } catch (error) {
    const { message } = error as NodeJS.ErrnoException;
    return { reason: `DATA_DIR "${dataDir}" cannot be used: ${message}`, check: adviceOf(error) };
  }
}
