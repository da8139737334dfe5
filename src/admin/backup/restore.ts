import { mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Endings } from '../../auth/account/endings.ts';
import { endSignIns } from '../../auth/account/everyone.ts';
import type { Config } from '../../platform/config.ts';
import { flushEntries, settleFolder } from '../../platform/db/embedded/flushed-files.ts';
import { securePrivateFolder } from '../../platform/db/embedded/folder.ts';
import { folderError } from '../../platform/db/embedded/folder-error.ts';
import { takeFolder } from '../../platform/db/embedded/lock.ts';
import { EMBEDDED_MAJOR, RESTORING } from '../../platform/db/embedded/major-version.ts';
import { type Queryable, statement } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import { openCluster } from '../connection.ts';
import { AdminError } from '../output.ts';
import { type Manifest, readArchive } from './archive.ts';
import { CLUSTER, SECRET_FILES } from './back-up.ts';
import type { Progress } from './progress.ts';

/** The data folder until it is whole. */
const DRAFT = 'postgres.restored';
/** What a restore that was killed may have left, besides what it restores. */
const REMAINS = new Set([
  RESTORING,
  DRAFT,
  CLUSTER,
  'lock',
  ...SECRET_FILES.flatMap((name) => [name, `${name}.restored`]),
]);

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
   WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) ORDER BY k.created_at, k.id`,
);

/** Of the lock that this process has. */
const LOCK = ['lock', 'lock-journal'];

/** Removes what an interrupted restore has left. Throws AdminError if anything else is there. */
function emptyFolder(dataDir: string): void {
  const names = readdirSync(dataDir).filter((name) => !LOCK.includes(name));
  const interrupted = names.includes(RESTORING);
  const others = names.filter((name) => !interrupted || !REMAINS.has(name));
  if (others.length > 0)
    throw new AdminError(
      `DATA_DIR "${dataDir}" is not empty: it has "${others[0]}". Restore into an empty or a new folder, and keep this one until the other works.`,
    );
  for (const name of names) if (name !== RESTORING) rmSync(join(dataDir, name), { recursive: true });
}

/** Unpacks the archive beside what is in use. */
async function unpack(file: string, dataDir: string, progress: Progress): Promise<Manifest> {
  const placeOf = (name: string): string => {
    if (name === CLUSTER) return join(dataDir, DRAFT);
    if (name.startsWith(`${CLUSTER}/`)) return join(dataDir, DRAFT, name.slice(CLUSTER.length + 1));
    if (SECRET_FILES.includes(name)) return join(dataDir, `${name}.restored`);
    throw new AdminError(
      `"${file}" has an entry that no backup has: "${name}". Nothing was restored from it.`,
    );
  };
  const manifest = await readArchive(file, {
    async folder(name) {
      mkdirSync(placeOf(name), { mode: 0o700 });
    },
    async file(name, content) {
      const target = await open(placeOf(name), 'wx', 0o600);
      try {
        for await (const part of content) {
          await target.writeFile(part);
          progress.add(part.length);
        }
      } finally {
        await target.close();
      }
    },
  });
  if (manifest.postgresMajor !== EMBEDDED_MAJOR)
    throw new AdminError(
      `"${file}" is of PostgreSQL ${manifest.postgresMajor}, and this version of the service contains PostgreSQL ${EMBEDDED_MAJOR}: restore it with the version that has written it, then run "admin upgrade".`,
    );
  return manifest;
}

/** A backup is larger than its file; how much is known once it is unpacked. */
function checkSpace(file: string, dataDir: string): void {
  const { size } = statSync(file);
  const { bavail, bsize, blocks } = statfsSync(dataDir);
  if (blocks > 0 && bavail * bsize < size)
    throw new AdminError(
      `The disk of DATA_DIR "${dataDir}" has less room than the backup takes. Free some space.`,
    );
}

/** Recovers the database, applies migrations, and ends what people had signed in to. */
async function settle({ config, log, revokeKeys, endings }: RestoreOptions) {
  const { database, applied } = await openCluster(config, log, DRAFT);
  try {
    const { ended } = await endSignIns(database, endings, { keys: revokeKeys });
    return { applied, ended, keys: await livingKeys(database) };
  } finally {
    await database.close();
  }
}

const livingKeys = (database: Queryable) => database.query(LIVING_KEYS, []);

/**
 * Restores a backup into an empty or missing DATA_DIR. The data gets its name last; until then, no start uses the folder.
 * Throws AdminError, UnusableFolderError, FolderInUseError, DatabaseError; the folder is empty then.
 */
export async function restore(options: RestoreOptions) {
  const { config, log, progress } = options;
  const beganMs = performance.now();
  if (config.database.kind !== 'embedded')
    throw new AdminError(
      'DATABASE_URL is set, and this command restores the embedded database: use pg_restore (docs/backup.md), or set DATA_DIR alone.',
    );
  const file = resolve(options.file);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new AdminError(`"${file}" is not a file.`);
  const { dataDir } = config.database;
  securePrivateFolder(dataDir, { strict: config.environment === 'production' });
  const lock = await takeFolder(dataDir, 0, log);
  const marker = join(dataDir, RESTORING);
  let manifest: Manifest;
  try {
    emptyFolder(dataDir);
    checkSpace(file, dataDir);
    writeFileSync(marker, '', { mode: 0o600, flush: true });
    flushEntries(dataDir);
    progress.step('unpacking');
    manifest = await unpack(file, dataDir, progress);
    progress.step('flushing');
    settleFolder(join(dataDir, DRAFT));
  } catch (error) {
    cleanUp(dataDir);
    throw 'syscall' in Object(error) ? folderError(dataDir, error) : error;
  } finally {
    lock.release();
  }
  try {
    progress.step('recovering');
    const { applied, ended, keys } = await settle(options);
    for (const name of SECRET_FILES)
      if (name in manifest.files) renameSync(join(dataDir, `${name}.restored`), join(dataDir, name));
    renameSync(join(dataDir, DRAFT), join(dataDir, CLUSTER));
    flushEntries(dataDir);
    rmSync(marker);
    flushEntries(dataDir);
    return {
      createdAt: manifest.createdAt,
      files: Object.keys(manifest.files).length,
      applied,
      ended,
      keys,
      seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    };
  } catch (error) {
    cleanUp(dataDir);
    throw error;
  } finally {
    progress.end();
  }
}

/** After a failure, so that the next try finds the folder as this one did. */
function cleanUp(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (name === DRAFT || name.endsWith('.restored'))
      rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  rmSync(join(dataDir, RESTORING), { force: true });
}
