import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILLER = 'filler';

/** Fills a disk with a file, except for `leave` bytes. */
export async function fillDisk(folder: string, leave = 0): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  try {
    await writeFile(join(folder, FILLER), Buffer.alloc(Math.max(0, bavail * bsize - leave)));
  } catch (error) {
    // A server that writes in the meantime leaves less room than was free: the disk is full, as intended.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
  }
}

/** Makes the room again. */
export const freeDisk = (folder: string): Promise<void> => rm(join(folder, FILLER));
