import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../operator-error.ts';

/** Other users of the machine could read or change the folder's content, or listen on a socket in it. */
export class UnsafeFolderError extends OperatorError {}

/** The folder cannot be created, or its file system refuses what is needed. */
export class UnusableFolderError extends OperatorError {}

/** What to do about an error of the operating system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'give the user of the service the right to write there',
  EPERM: 'give the user of the service the right to write there',
  EEXIST: 'it must be a folder, so remove the file or name another path',
  ENOTDIR: 'a part of the path is a file, so name another path',
  ENOENT: 'it cannot be created there, so create it or name another path',
  EROFS: 'its file system is read-only, so mount it for writing or name a folder elsewhere',
  ENOSPC: 'its disk is full, so free some space or name a folder elsewhere',
  EDQUOT: 'the disk quota of the user is used up, so free some space or name a folder elsewhere',
};

/** The error of a file in DATA_DIR, in words for the operator. */
export function folderError(path: string, error: unknown): UnusableFolderError {
  const { code, message } = error as NodeJS.ErrnoException;
  const advice =
    ADVICE[code ?? ''] ??
    'check that it is a folder on a working disk where the user of the service may write';
  return new UnusableFolderError(`DATA_DIR "${path}" cannot be used: ${advice} (${message}).`, {
    cause: error,
  });
}

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

/** A new cluster takes 40 MiB, and a running one needs room for a segment of its log. PGlite does not say that a disk is full. */
const MIN_FREE_BYTES = 16 * 1_048_576;
const NEW_CLUSTER_BYTES = 64 * 1_048_576;

/** Throws UnusableFolderError if the disk is too full to start on, with `more` bytes to be written besides. */
export function checkDiskSpace(path: string, more = 0): void {
  const { bavail, blocks, bsize } = onFolder(path, () => statfsSync(path));
  const needed = (existsSync(join(path, 'postgres')) ? MIN_FREE_BYTES : NEW_CLUSTER_BYTES) + more;
  const free = bavail * bsize;
  // Some network file systems do not tell their size.
  if (blocks > 0 && free < needed)
    throw new UnusableFolderError(
      `DATA_DIR "${path}" cannot be used: its disk has ${Math.floor(free / 1_048_576)} MiB left, and ${Math.ceil(needed / 1_048_576)} are needed. Free some space, or name a folder elsewhere.`,
    );
}
