import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { audit, OPERATOR } from '../../audit/audit.ts';
import type { Endings } from '../../auth/account/endings.ts';
import { endSignIns } from '../../auth/account/everyone.ts';
import type { Config } from '../../platform/config.ts';
import { flushEntries, settleFolder } from '../../platform/db/embedded/flushed-files.ts';
import { securePrivateFolder } from '../../platform/db/embedded/folder.ts';
import { folderError } from '../../platform/db/embedded/folder-error.ts';
import { takeFolder } from '../../platform/db/embedded/lock.ts';
import { RESTORING } from '../../platform/db/embedded/major-version.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import { embeddedFolder, openCluster } from '../connection.ts';
import { AdminError } from '../output.ts';
import type { Progress } from '../progress.ts';
import type { Manifest } from './archive-form.ts';
import { CLUSTER, SECRET_FILES } from './back-up.ts';
import { DRAFT, draftOf, refuseContent, removeRemains } from './restored-folder.ts';
import { unpack } from './unpack.ts';

export interface RestoreOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly file: string;
  readonly revokeKeys: boolean;
  /** What was issued to accounts. */
  readonly endings: Endings;
  readonly progress: Progress;
}

interface LivingKey {
  readonly id: string;
}

const LIVING_KEYS = statement<LivingKey>(
  'restore_keys',
  `SELECT k.id, k.name, k.prefix, u.email AS "user", k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt"
   FROM api_keys k JOIN users u ON u.id = k.user_id
   WHERE u.disabled_at IS NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
   ORDER BY k.created_at, k.id`,
);

const livingKeys = (database: Queryable) => database.query(LIVING_KEYS, []);

/** Marks the folder, and unpacks the archive beside what is in use. */
async function fill({ file, progress }: RestoreOptions, dataDir: string): Promise<Manifest> {
  removeRemains(dataDir);
  writeFileSync(join(dataDir, RESTORING), '', { mode: 0o600, flush: true });
  flushEntries(dataDir);
  mkdirSync(join(dataDir, DRAFT), { mode: 0o700 });
  progress.step('unpacking');
  return unpack(file, dataDir, progress);
}

/** Recovers the database, applies migrations, and ends what people had signed in to. */
async function settle({ config, log, revokeKeys, endings }: RestoreOptions) {
  const { database, applied } = await openCluster(config, log, DRAFT);
  try {
    const { ended } = await endSignIns(database, endings, { keys: revokeKeys });
    await database
      .unitOfWork({ author: OPERATOR })
      .run((work) => audit(work, 'restore', null, { ended, migrations: applied }));
    return { applied, ended, keys: await livingKeys(database) };
  } finally {
    await database.close();
  }
}

/** Gives all its name, the database last, and opens the folder for a start. */
function publish(dataDir: string, { files }: Manifest): void {
  for (const name of SECRET_FILES) if (name in files) renameSync(draftOf(dataDir, name), join(dataDir, name));
  renameSync(join(dataDir, DRAFT), join(dataDir, CLUSTER));
  flushEntries(dataDir);
  rmSync(join(dataDir, RESTORING));
  flushEntries(dataDir);
}

/** Runs `work`. When that fails, the next try finds the folder as this one did. */
async function orEmpty<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    removeRemains(dataDir);
    rmSync(join(dataDir, RESTORING), { force: true });
    throw error;
  }
}

/** Throws AdminError where there is nothing to restore. */
function checkSource(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new AdminError(`"${file}" is not a file. Name one that "backup" has written.`);
}

async function restoreInto(options: RestoreOptions, dataDir: string) {
  const beganMs = performance.now();
  const manifest = await fill(options, dataDir);
  options.progress.step('recovering');
  const settled = await settle(options);
  options.progress.step('flushing');
  // PostgreSQL has flushed most of it.
  settleFolder(join(dataDir, DRAFT));
  publish(dataDir, manifest);
  return {
    createdAt: manifest.createdAt,
    files: Object.keys(manifest.files).length,
    secretKey: 'secret-key' in manifest.files,
    ...settled,
    seconds: Math.round((performance.now() - beganMs) / 100) / 10,
  };
}

/**
 * Restores a backup into an empty or missing DATA_DIR. The data gets its name last; until then, no start uses the folder.
 * Throws AdminError, UnusableFolderError, FolderInUseError, DatabaseError; the folder is empty then.
 */
export async function restore(options: RestoreOptions) {
  const { config, log, progress } = options;
  const dataDir = embeddedFolder(config, 'use pg_restore (docs/backup.md), or unset it');
  const file = resolve(options.file);
  checkSource(file);
  securePrivateFolder(dataDir, { strict: config.environment === 'production' });
  const lock = await takeFolder(dataDir, 0, log);
  try {
    refuseContent(dataDir);
    return await orEmpty(dataDir, () => restoreInto({ ...options, file }, dataDir));
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? folderError(dataDir, error) : error;
  } finally {
    lock.release();
    progress.end();
  }
}
