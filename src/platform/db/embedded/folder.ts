import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** Other users of the machine could read or change the folder's content, or listen on a socket in it. */
export class UnsafeFolderError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsafeFolderError';
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
 * refused: its content may already have been read. Throws UnsafeFolderError.
 */
export function securePrivateFolder(path: string, { strict }: { readonly strict: boolean }): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stats = statSync(path);
  if (!stats.isDirectory()) throw new UnsafeFolderError(`DATA_DIR "${path}" is not a folder.`);
  if (!isOwn(stats))
    throw new UnsafeFolderError(
      `DATA_DIR "${path}" belongs to another user of this machine (uid ${stats.uid}), who could read and change everything in it. Run as that user, or set DATA_DIR to a folder of your own.`,
    );
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
