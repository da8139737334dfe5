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

/** Other users of the machine could read or change the data directory, or listen on a socket in it. */
class UnsafeDataDirError extends OperatorError {}

export class UnusableDataDirError extends OperatorError {}

/** A running cluster needs room for a WAL segment. PGlite does not report a full disk. */
const MIN_FREE_BYTES = 16 * 1_048_576;

const toMebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576);

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

export function adviceOf(error: unknown): string {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall === 'listen') return 'no socket can be made in it, so name a folder on another file system';
  return (
    ADVICE[code] ?? 'check that it is a folder on a working disk where the user of the service may write'
  );
}

export function toDataDirError(path: string, error: unknown): UnusableDataDirError {
  const { message } = error as NodeJS.ErrnoException;
  return new UnusableDataDirError(`DATA_DIR "${path}" cannot be used: ${adviceOf(error)} (${message}).`, {
    cause: error,
  });
}

/**
 * @returns undefined if the file system does not report its size, like some network file systems.
 * @throws the error of the operating system.
 */
export function freeBytes(path: string): number | undefined {
  const { bavail, blocks, bsize } = statfsSync(path);
  return blocks > 0 ? bavail * bsize : undefined;
}

/** The data may be on a separate disk. */
const toClusterDir = (dataDir: string) => join(dataDir, 'postgres');

/** Makes a few system calls, writes nothing, and never throws. */
export function findDataDirProblem(dataDir: string) {
  const data = toClusterDir(dataDir);
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

/** @throws {UnusableDataDirError} */
function withDataDir<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof OperatorError ? error : toDataDirError(path, error);
  }
}

/**
 * Node's recursive mkdir never returns where the operating system allows no directory, such as in /proc.
 * @throws the error of the operating system.
 */
export function makePrivateDirectory(path: string): void {
  const parent = dirname(resolve(path));
  if (!existsSync(parent)) makePrivateDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // For a directory that exists, some read-only file systems report EROFS instead of EEXIST.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** SQLite opens no path of more than 512 bytes, and appends `-journal` to the path of the lock. */
const MAX_PATH_BYTES = 512 - 'lock-journal'.length - 1;

/**
 * @param path is absolute.
 * @throws {UnusableDataDirError}
 */
export function requireShortPath(dataDir: string, path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH_BYTES)
    throw new UnusableDataDirError(
      `DATA_DIR "${dataDir}" cannot be used: its path has ${bytes} bytes, but must have at most ${MAX_PATH_BYTES}. Name another path.`,
    );
}

const OTHERS = 0o077;

/** Always true on Windows, where directories inherit their permissions. */
export const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

export const isOpen = ({ mode }: Stats): boolean => process.platform !== 'win32' && (mode & OTHERS) !== 0;

const formatMode = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0');

function requireOwn(path: string, stats: Stats): void {
  if (!isOwn(stats))
    throw new UnsafeDataDirError(
      `DATA_DIR "${path}" belongs to another user of this machine (uid ${stats.uid}), who could read and change everything in it. Run as that user, or set DATA_DIR to a directory that you own.`,
    );
  withDataDir(path, () => accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK));
}

/**
 * For a directory of another user, files in it would seem to be missing.
 * @throws {UnsafeDataDirError}
 * @throws {UnusableDataDirError}
 */
export function requireOwnDataDir(path: string): void {
  const stats = withDataDir(path, () => statSync(path, { throwIfNoEntry: false }));
  if (stats !== undefined) requireOwn(path, stats);
}

/**
 * Ensures that only the user of this process can read or change the data directory, as PostgreSQL requires.
 * @param strict rejects a directory that is open to others, because its content may already have been read.
 * @throws {UnsafeDataDirError}
 * @throws {UnusableDataDirError}
 */
export function securePrivateDataDir(path: string, { strict }: { readonly strict: boolean }): void {
  requireShortPath(path, resolve(path));
  const stats = withDataDir(path, () => {
    makePrivateDirectory(path);
    return statSync(path);
  });
  requireOwn(path, stats);
  if (!isOpen(stats)) return;
  if (strict)
    throw new UnsafeDataDirError(
      `DATA_DIR "${path}" is open to other users of this machine (mode ${formatMode(stats)}). Close it with "chmod -R go= '${path}'", then start again.`,
    );
  // While the directory was open, another user may have planted a file under a name that the service uses.
  for (const name of readdirSync(path))
    if (!isOwn(lstatSync(join(path, name))))
      throw new UnsafeDataDirError(
        `DATA_DIR "${path}" was open to other users of this machine, and "${name}" in it belongs to another user. Set DATA_DIR to another directory.`,
      );
  chmodSync(path, 0o700);
}

/** Files of the service. Other files, such as lost+found, may belong to other users. */
const FILES = ['lock', 'secret-key', 'demo.json'];

/**
 * PGlite could not open the files of a backup that another user has restored.
 * @throws {UnsafeDataDirError}
 * @throws {UnusableDataDirError}
 */
export function checkContent(path: string): void {
  withDataDir(path, () => {
    const data = toClusterDir(path);
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

/**
 * @param more bytes that the caller will write in addition.
 * @throws {UnusableDataDirError} if the disk is too full to start.
 */
export function checkDiskSpace(path: string, more = 0): void {
  const data = toClusterDir(path);
  const [place, least] = existsSync(data) ? [data, MIN_FREE_BYTES] : [path, NEW_CLUSTER_BYTES];
  const needed = least + more;
  const free = withDataDir(path, () => freeBytes(place));
  if (free !== undefined && free < needed)
    throw new UnusableDataDirError(
      `DATA_DIR "${path}" cannot be used: its disk has ${toMebibytes(free)} MiB left, and ${toMebibytes(needed)} are needed. Free some space, or set DATA_DIR to a directory on another disk.`,
    );
}

export const secretFile = (dataDir: string): string => join(dataDir, 'secret-key');

const RANDOM_BYTES = 48;

function readKeyFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Creates the file with all of its content or not at all, also if the process is killed. An existing file stays.
 * @throws the error of the operating system.
 */
export function createSecretFile(dataDir: string, content: string): void {
  const path = secretFile(dataDir);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, content, { mode: 0o600, flush: true });
    chmodSync(draft, 0o600);
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function readOrCreateKey(dataDir: string): string {
  const path = secretFile(dataDir);
  const known = readKeyFile(path);
  if (known !== undefined) return known;
  makePrivateDirectory(dataDir);
  createSecretFile(dataDir, `${randomBytes(RANDOM_BYTES).toString('base64url')}\n`);
  return readFileSync(path, 'utf8').trim();
}

/**
 * SECRET_KEY, or random bytes in a file of DATA_DIR. The file is created atomically, so that concurrent
 * processes agree on its content.
 * @throws {UnusableDataDirError} if the file can be neither read nor written.
 */
export function secretKeyOf({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  if (secretKey !== undefined) return secretKey;
  try {
    return readOrCreateKey(dataDir);
  } catch (error) {
    throw toDataDirError(dataDir, error);
  }
}
