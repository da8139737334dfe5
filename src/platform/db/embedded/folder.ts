import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  folderError,
  MIN_FREE_BYTES,
  toMebibytes,
  UnsafeFolderError,
  UnusableFolderError,
} from './folder-error.ts';
import { freeBytes } from './folder-watch.ts';

/** Runs `work` on the files of the folder. Throws UnusableFolderError. */
function onFolder<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw folderError(path, error);
  }
}

const OTHERS = 0o077;

/** Whether this process's user owns it. Always true on Windows, where folders inherit their permissions. */
export const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

/** Whether anyone but its owner has access. */
export const isOpen = ({ mode }: Stats): boolean => process.platform !== 'win32' && (mode & OTHERS) !== 0;

const octal = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * Ensures that only this process's user can read or change the folder, as PostgreSQL requires of its data
 * directory. Creates the folder if needed. A folder open to others is closed to them or, if `strict`,
 * refused: its content may already have been read. Throws UnsafeFolderError, UnusableFolderError.
 */
export function securePrivateFolder(path: string, { strict }: { readonly strict: boolean }): void {
  const stats = onFolder(path, () => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return statSync(path);
  });
  if (!isOwn(stats))
    throw new UnsafeFolderError(
      `DATA_DIR "${path}" belongs to another user of this machine (uid ${stats.uid}), who could read and change everything in it. Run as that user, or set DATA_DIR to a folder of your own.`,
    );
  onFolder(path, () => accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK));
  if (!isOpen(stats)) return;
  if (strict)
    throw new UnsafeFolderError(
      `DATA_DIR "${path}" is open to other users of this machine (mode ${octal(stats)}). Close it with "chmod -R go= '${path}'", then start again.`,
    );
  // While it was open, another user may have planted a file under a name that the service uses.
  for (const name of readdirSync(path))
    if (!isOwn(lstatSync(join(path, name))))
      throw new UnsafeFolderError(
        `DATA_DIR "${path}" was open to other users of this machine, and "${name}" in it belongs to one of them. Set DATA_DIR to another folder.`,
      );
  chmodSync(path, 0o700);
}

/** A new cluster takes 40 MiB. */
const NEW_CLUSTER_BYTES = 64 * 1_048_576;

/** Throws UnusableFolderError if the disk is too full to start on. */
export function checkDiskSpace(path: string): void {
  const data = join(path, 'postgres');
  const [place, needed] = existsSync(data) ? [data, MIN_FREE_BYTES] : [path, NEW_CLUSTER_BYTES];
  const free = onFolder(path, () => freeBytes(place));
  if (free !== undefined && free < needed)
    throw new UnusableFolderError(
      `DATA_DIR "${path}" cannot be used: its disk has ${toMebibytes(free)} MiB left, and the start needs ${toMebibytes(needed)}. Free some space, or name a folder elsewhere.`,
    );
}
