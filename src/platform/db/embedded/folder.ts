import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';

/** Other users of the machine could read or change what is in a folder, or listen in it. */
export class UnsafeFolderError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsafeFolderError';
  }
}

const OTHERS = 0o077;

/** Whether this process's user owns it. Windows has no such owners: a folder there has the rights of the one around it. */
export const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

/** Whether anybody but its owner has rights to it. */
export const isOpen = ({ mode }: Stats): boolean => process.platform !== 'win32' && (mode & OTHERS) !== 0;

const octal = ({ mode }: Stats) => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * Makes sure of a folder that nobody but this process's user can read or change, as PostgreSQL asks of its own, and
 * makes it where there is none. One that is open to others is closed to them, or refused where `strict`: what they
 * have read by then, no mode takes back. Throws UnsafeFolderError.
 */
export function securePrivateFolder(path: string, { strict }: { readonly strict: boolean }): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const stats = statSync(path);
  if (!stats.isDirectory()) throw new UnsafeFolderError(`DATA_DIR "${path}" is not a folder.`);
  if (!isOwn(stats))
    throw new UnsafeFolderError(
      `DATA_DIR "${path}" belongs to another user of this machine (uid ${stats.uid}), who could read and change all that is in it. Run as that user, or set DATA_DIR to a folder of your own.`,
    );
  if (!isOpen(stats)) return;
  if (strict)
    throw new UnsafeFolderError(
      `DATA_DIR "${path}" is open to other users of this machine (mode ${octal(stats)}). Close it with "chmod -R go= '${path}'", then start again.`,
    );
  // While it was open, somebody may have put something into it under a name that is about to be used.
  for (const name of readdirSync(path))
    if (!isOwn(lstatSync(join(path, name))))
      throw new UnsafeFolderError(
        `DATA_DIR "${path}" was open to other users of this machine, and "${name}" in it belongs to one of them. Set DATA_DIR to another folder.`,
      );
  chmodSync(path, 0o700);
}
