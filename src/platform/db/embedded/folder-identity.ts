import { realpathSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

/** A folder as it differs from its copies and from what later has its path. Numbers may exceed those of JSON. */
export const folderIdentity = z.object({ path: z.string(), device: z.string(), inode: z.string() });

export type FolderIdentity = Readonly<z.infer<typeof folderIdentity>>;

/** Throws the error of the operating system. */
export function identityOf(folder: string): FolderIdentity {
  const path = realpathSync(folder);
  const { dev, ino } = statSync(path, { bigint: true });
  return { path, device: String(dev), inode: String(ino) };
}

/** Whether `folder` leads to the very folder, under the path that it had. Throws the error of the operating system. */
export function isSameFolder(folder: string, identity: FolderIdentity): boolean {
  const there = statSync(folder, { throwIfNoEntry: false }) !== undefined;
  return there && isDeepStrictEqual(identityOf(folder), identity);
}
