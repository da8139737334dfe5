import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILLER = 'filler';

/** Fills a disk with a file, but for so many bytes. */
export async function fillDisk(folder: string, leave = 0): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  await writeFile(join(folder, FILLER), Buffer.alloc(Math.max(0, bavail * bsize - leave)));
}

/** Makes the room again. */
export const freeDisk = (folder: string): Promise<void> => rm(join(folder, FILLER));
