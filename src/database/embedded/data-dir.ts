import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../../platform/config/config.ts';
import { OperatorError } from '../../platform/errors.ts';

/** Other users of the machine could read or change the data directory's content, or listen on a socket in it. */
class UnsafeDataDirError extends OperatorError {}

/** The data directory cannot be created, or its file system lacks what the database needs. */
export class UnusableDataDirError extends OperatorError {}

/** A running cluster needs room for a segment of its log. PGlite does not say that a disk is full. */
const MIN_FREE_BYTES = 16 * 1_048_576;

const toMebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576);

/** What to do about an error of the operating system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'give the user of the service the right to write there',
  EPERM: 'give the user of the service the right to write there',
  EEXIST: 'it must be a folder, so remove the file, or the link that leads nowhere, or name another path',
  ENOTDIR: 'a part of the path is a file, so name another path',
  ENOENT: 'it cannot be created there, so name another path',
  ENAMETOOLONG: 'its path is too long, so name another path',
  ELOOP: 'its path is a circle of links, so name another path',
  EROFS: 'its file system is read-only, so mount it for writing or name a folder elsewhere',
  ENOSPC: 'its disk is full, so free some space or name a folder elsewhere',
  EDQUOT: 'the disk quota of the user is used up, so free some space or name a folder elsewhere',
  EIO: 'its disk fails, so check it or name a folder elsewhere',
};

/** What the operator should do about the error of a file in DATA_DIR. */
export function adviceOf(error: unknown): string {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'listen') return 'no socket can be made in it, so name a folder on another file system';
  return (
    ADVICE[code] ?? 'check that it is a folder on a working disk where the user of the service may write'
  );
}

/** The error of a file in DATA_DIR, in words for the operator. */
export function toDataDirError(path: string, error: unknown): UnusableDataDirError {
  const { message } = error as NodeJS.ErrnoException;
  return new UnusableDataDirError(`DATA_DIR "${path}" cannot be used: ${adviceOf(error)} (${message}).`, {
    cause: error,
  });
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
 * What is wrong with the data directory of a running embedded database: it has gone, cannot be written, or is nearly full (less
 * than MIN_FREE_BYTES), and what the operator must do. Undefined if nothing is. A few system calls; writes nothing, and never throws.
 */
export function findDataDirProblem(dataDir: string) {
  const data = dataOf(dataDir);
  try {
    if (!existsSync(data))
      return {
        reason: `the data of DATA_DIR "${dataDir}" has gone`,
        hint: 'mount its disk or put the folder back, then restart the service',
      };
    for (const path of [dataDir, data]) accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    const free = freeBytes(data);
    if (free === undefined || free >= MIN_FREE_BYTES) return undefined;
    return {
      reason: `the disk of DATA_DIR "${dataDir}" has ${toMebibytes(free)} MiB left`,
      hint: 'free some space: without any, nothing can be written',
    };
  } catch (error) {
    const { message } = error as NodeJS.ErrnoException;
    return { reason: `DATA_DIR "${dataDir}" cannot be used: ${message}`, hint: adviceOf(error) };
  }
}

/** Runs `work` on the files of the data directory. Throws UnusableDataDirError. */
function withDataDir<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof OperatorError ? error : toDataDirError(path, error);
  }
}

/**
 * Creates a directory and its missing parents for its owner alone; one by one, since Node's recursive mkdir never
 * ends where nothing can be created, as in /proc. Throws the error of the operating system.
 */
export function makePrivateDirectory(path: string): void {
  const parent = dirname(resolve(path));
  if (!existsSync(parent)) makePrivateDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // For a directory that exists, some file systems report first that they are read-only.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

const OTHERS = 0o077;

/** True if this process's user owns it. Always true on Windows, where directories inherit their permissions. */
export const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

/** Whether anyone but its owner has access. */
export const isOpen = ({ mode }: Stats): boolean => process.platform !== 'win32' && (mode & OTHERS) !== 0;

const octal = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * Ensures that only this process's user can read or change the data directory, as PostgreSQL requires of its data
 * directory. Creates it if needed. If it is open to others, it is closed to them or, if `strict`, rejected: its content may
 * already have been read. Throws UnsafeDataDirError, UnusableDataDirError.
 */
export function securePrivateDataDir(path: string, { strict }: { readonly strict: boolean }): void {
  const stats = withDataDir(path, () => {
    makePrivateDirectory(path);
    return statSync(path);
  });
  if (!isOwn(stats))
    throw new UnsafeDataDirError(
      `DATA_DIR "${path}" belongs to another user of this machine (uid ${stats.uid}), who could read and change everything in it. Run as that user, or set DATA_DIR to a directory that you own.`,
    );
  withDataDir(path, () => accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK));
  if (!isOpen(stats)) return;
  if (strict)
    throw new UnsafeDataDirError(
      `DATA_DIR "${path}" is open to other users of this machine (mode ${octal(stats)}). Close it with "chmod -R go= '${path}'", then start again.`,
    );
  // While it was open, another user may have planted a file under a name that the service uses.
  for (const name of readdirSync(path))
    if (!isOwn(lstatSync(join(path, name))))
      throw new UnsafeDataDirError(
        `DATA_DIR "${path}" was open to other users of this machine, and "${name}" in it belongs to another user. Set DATA_DIR to another directory.`,
      );
  chmodSync(path, 0o700);
}

/** The files of the service; others, such as lost+found, may be anybody's. */
const FILES = ['lock', 'secret-key', 'demo.json'];

/**
 * Checks the owner and the rights of what is in the data directory, two levels deep: a backup that another user has put back
 * leaves files which PGlite could not open. Throws UnsafeDataDirError, UnusableDataDirError.
 */
export function checkContent(path: string): void {
  withDataDir(path, () => {
    const data = dataOf(path);
    const parts = existsSync(data) ? readdirSync(data).map((name) => join(data, name)) : [];
    for (const part of [data, ...parts, ...FILES.map((name) => join(path, name))]) {
      const stats = statSync(part, { throwIfNoEntry: false });
      if (stats === undefined) continue;
      if (!isOwn(stats))
        throw new UnsafeDataDirError(
          `"${part}" belongs to another user of this machine (uid ${stats.uid}), but DATA_DIR belongs to the user of the service. Change the owner of all files with "chown -R ${process.geteuid?.()} '${path}'", then start again.`,
        );
      const rights = constants.R_OK | constants.W_OK;
      accessSync(part, stats.isDirectory() ? rights | constants.X_OK : rights);
    }
  });
}

/** A new cluster takes 40 MiB. */
const NEW_CLUSTER_BYTES = 64 * 1_048_576;

/** Throws UnusableDataDirError if the disk is too full to start, with `more` bytes to be written in addition. */
export function checkDiskSpace(path: string, more = 0): void {
  const data = dataOf(path);
  const [place, least] = existsSync(data) ? [data, MIN_FREE_BYTES] : [path, NEW_CLUSTER_BYTES];
  const needed = least + more;
  const free = withDataDir(path, () => freeBytes(place));
  if (free !== undefined && free < needed)
    throw new UnusableDataDirError(
      `DATA_DIR "${path}" cannot be used: its disk has ${toMebibytes(free)} MiB left, and ${toMebibytes(needed)} are needed. Free some space, or set DATA_DIR to a directory on another disk.`,
    );
}

/** Where the secret is that stands in for SECRET_KEY, if it was ever needed. */
export const secretFile = (dataDir: string): string => join(dataDir, 'secret-key');

const RANDOM_BYTES = 48;

function stored(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads the file, or creates it atomically. */
function keyIn(dataDir: string): string {
  const path = secretFile(dataDir);
  const known = stored(path);
  if (known !== undefined) return known;
  makePrivateDirectory(dataDir);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${randomBytes(RANDOM_BYTES).toString('base64url')}\n`, {
      mode: 0o600,
      flush: true,
    });
    chmodSync(draft, 0o600);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return readFileSync(path, 'utf8').trim();
}

/**
 * The secret that keys are derived from: SECRET_KEY or, if unset (never in production), random bytes in a
 * file of DATA_DIR that only its owner can read. The file is created atomically, so concurrent processes
 * agree on its content. Throws UnusableDataDirError if the file can be neither read nor written.
 */
export function secretKeyOf({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  if (secretKey !== undefined) return secretKey;
  try {
    return keyIn(dataDir);
  } catch (error) {
    throw toDataDirError(dataDir, error);
  }
}
