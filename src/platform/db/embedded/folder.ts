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
import { dirname, join, resolve } from 'node:path';
import { OperatorError } from '../../operator-error.ts';
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
    throw error instanceof OperatorError ? error : folderError(path, error);
  }
}

/**
 * Creates the folder, and those that lead to it, for its owner alone; one by one, since Node's recursive mkdir never
 * ends where nothing can be created, as in /proc. Throws the error of the operating system.
 */
export function makeFolder(path: string): void {
  const parent = dirname(resolve(path));
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Of a folder that exists, some file systems say first that they are read-only.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
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
    makeFolder(path);
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

/** The files of the service; others, such as lost+found, may be anybody's. */
const FILES = ['lock', 'secret-key', 'demo.json'];

/**
 * Checks the owner and the rights of what is in the folder, two levels deep: a backup that another user has put back
 * leaves files which PGlite could not open. Throws UnsafeFolderError, UnusableFolderError.
 */
export function checkContent(path: string): void {
  onFolder(path, () => {
    const data = join(path, 'postgres');
    const parts = existsSync(data) ? readdirSync(data).map((name) => join(data, name)) : [];
    for (const part of [data, ...parts, ...FILES.map((name) => join(path, name))]) {
      const stats = statSync(part, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (!isOwn(stats))
        throw new UnsafeFolderError(
          `"${part}" belongs to another user of this machine (uid ${stats.uid}), but DATA_DIR to the user of the service. Give all of it to that user with "chown -R ${process.geteuid?.()} '${path}'", then start again.`,
        );
      const rights = constants.R_OK | constants.W_OK;
      accessSync(part, stats.isDirectory() ? rights | constants.X_OK : rights);
    }
  });
}

/** A new cluster takes 40 MiB. */
const NEW_CLUSTER_BYTES = 64 * 1_048_576;

/** Throws UnusableFolderError if the disk is too full to start on, with `more` bytes to be written besides. */
export function checkDiskSpace(path: string, more = 0): void {
  const data = join(path, 'postgres');
  const [place, least] = existsSync(data) ? [data, MIN_FREE_BYTES] : [path, NEW_CLUSTER_BYTES];
  const needed = least + more;
  const free = onFolder(path, () => freeBytes(place));
  if (free !== undefined && free < needed)
    throw new UnusableFolderError(
      `DATA_DIR "${path}" cannot be used: its disk has ${toMebibytes(free)} MiB left, and ${toMebibytes(needed)} are needed. Free some space, or name a folder elsewhere.`,
    );
}
