import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { makeFolder } from './db/embedded/folder.ts';
import { folderError } from './db/embedded/folder-error.ts';

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
  makeFolder(dataDir);
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
 * agree on its content. Throws UnusableFolderError if the file can be neither read nor written.
 */
export function secretKeyOf({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  if (secretKey !== undefined) return secretKey;
  try {
    return keyIn(dataDir);
  } catch (error) {
    throw folderError(dataDir, error);
  }
}
