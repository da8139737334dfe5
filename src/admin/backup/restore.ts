import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { revokeLogins } from '../../auth/all-accounts.ts';
import { type AuthoredWork, audit, OPERATOR } from '../../auth/audit.ts';
import { openDatabase } from '../../database/database.ts';
import { flushEntries, openCluster, secureAndFlushDirectory } from '../../database/embedded/cluster.ts';
import {
  checkDiskSpace,
  createSecretFile,
  secretFile,
  securePrivateDataDir,
  toDataDirError,
} from '../../database/embedded/data-dir.ts';
import { acquireDataDirLock } from '../../database/embedded/data-dir-lock.ts';
import { RESTORING } from '../../database/embedded/major-version.ts';
import { setupError } from '../../database/preflight.ts';
import { DEFAULT_SCHEMA, settingsSql } from '../../database/session-settings.ts';
import { statement } from '../../database/statement.ts';
import { copyIn } from '../../database/transfer/copy-in.ts';
import { type Endpoint, pgEndpoint, pgliteEndpoint, queryableOn } from '../../database/transfer/endpoints.ts';
import { type CopyPiece, watchPieces } from '../../database/transfer/snapshot.ts';
import { adoptEvents } from '../../engine/events/log-state.ts';
import { REVOCATIONS } from '../../features/features.ts';
import type { CommandServices, DefineCommands } from '../cli/connection.ts';
import { AdminError, type ProgressBar, print, printSkippedTables, showProgress } from '../cli/output.ts';
import { type OpenedBackup, readBackup, SECRET_FILES } from './backup-file.ts';

interface RestoreOptions extends CommandServices {
  readonly file: string;
  readonly revokeApiKeys: boolean;
  readonly progress: ProgressBar;
}

const WORKING_KEYS = statement<{ id: string }>(
  'restore_keys',
  `SELECT k.id, k.name, k.prefix, u.email AS "user", k.created_at AS "createdAt", k.last_used_at AS "lastUsedAt"
   FROM api_keys k JOIN users u ON u.id = k.user_id
   WHERE u.disabled_at IS NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
   ORDER BY k.created_at, k.id`,
);

const draftIn = (dataDir: string) => join(dataDir, RESTORING);
/** DATA_DIR may have the lock of this process, and lost+found if DATA_DIR is a separate file system. */
const IGNORED = new Set(['lock', 'lock-journal', 'lost+found']);

/** One transaction ensures that an interrupted restore changes nothing. */
async function restoreInto(
  target: Endpoint,
  schema: string,
  { head, pieces }: OpenedBackup,
  { file, revokeApiKeys, progress, io }: RestoreOptions,
  beforeCommit: () => void,
) {
  await target.rows('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
  const origin = `The backup "${file}" of version ${head.version}`;
  const { tables, leftOut, applied } = await copyIn({
    ...{ target, schema, origin, contents: head, pieces: watchPieces(pieces, progress.step) },
  });
  const work: AuthoredWork = { ...queryableOn(target), author: OPERATOR };
  await adoptEvents(work);
  const revoked = await revokeLogins(work, REVOCATIONS, { keys: revokeApiKeys });
  await audit(work, 'database.restore', null, { revoked, migrations: applied });
  const keys = await work.query(WORKING_KEYS, []);
  beforeCommit();
  await target.rows('COMMIT');
  printSkippedTables(io.stderr, leftOut);
  const { createdAt, version, files } = head;
  return { createdAt, version, tables, secretKey: 'secret-key' in files, applied, revoked, keys };
}

/** @throws {AdminError} if the directory has content other than the rest of an interrupted restore. */
function requireEmpty(dataDir: string): void {
  const names = readdirSync(dataDir).filter((name) => !IGNORED.has(name));
  const left = names.includes(RESTORING) && !names.includes('postgres') ? [RESTORING, ...SECRET_FILES] : [];
  const other = names.find((name) => !left.includes(name));
  if (other !== undefined)
    throw new AdminError(
      `DATA_DIR "${dataDir}" is not empty: the directory has "${other}". Nothing was changed. Restore into an empty or new directory, and keep this directory until the restored data works.`,
    );
}

function removeDraft(dataDir: string): void {
  for (const name of [...SECRET_FILES, RESTORING])
    rmSync(join(dataDir, name), { recursive: true, force: true });
}

const writePrivate = (path: string, content: string) =>
  writeFileSync(path, content, { flag: 'wx', mode: 0o600, flush: true });

/** Renames the database last, so that a crash leaves no database without its secrets. */
function publish(dataDir: string): void {
  const draft = draftIn(dataDir);
  for (const name of SECRET_FILES)
    if (existsSync(join(draft, name))) renameSync(join(draft, name), join(dataDir, name));
  flushEntries(dataDir);
  renameSync(join(draft, 'postgres'), join(dataDir, 'postgres'));
  flushEntries(dataDir);
  rmSync(draft, { recursive: true });
}

/** PostgreSQL writes rows to the table, to indexes and to the WAL. */
const COPIES = 4;

/** PGlite does not report a full disk. */
async function* checkRoom(dataDir: string, pieces: AsyncIterable<CopyPiece>): AsyncGenerator<CopyPiece> {
  for await (const piece of pieces) {
    checkDiskSpace(dataDir, COPIES * piece.data.length);
    yield piece;
  }
}

async function restoreDirectory(dataDir: string, backup: OpenedBackup, options: RestoreOptions) {
  checkDiskSpace(dataDir);
  removeDraft(dataDir);
  const draft = draftIn(dataDir);
  mkdirSync(draft, { mode: 0o700 });
  try {
    for (const [name, content] of Object.entries(backup.head.files)) writePrivate(join(draft, name), content);
    const engine = await openCluster(join(draft, 'postgres'));
    const target = pgliteEndpoint(engine);
    await target.rows(settingsSql({ schema: DEFAULT_SCHEMA }));
    const restored = await restoreInto(
      target,
      DEFAULT_SCHEMA,
      { ...backup, pieces: checkRoom(dataDir, backup.pieces) },
      options,
      () => undefined,
    ).finally(() => engine.close());
    options.progress.step('flushing');
    secureAndFlushDirectory(draft);
    return restored;
  } catch (error) {
    // The next try must find the directory unchanged.
    removeDraft(dataDir);
    throw error;
  }
}

async function restoreEmbedded(dataDir: string, options: RestoreOptions) {
  const { config, log, file } = options;
  securePrivateDataDir(dataDir, { strict: config.environment === 'production' });
  const lock = await acquireDataDirLock(dataDir, 0, log);
  try {
    requireEmpty(dataDir);
    const { result } = await readBackup(file, (backup) => restoreDirectory(dataDir, backup, options));
    publish(dataDir);
    return result;
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? toDataDirError(dataDir, error) : error;
  } finally {
    lock.release();
  }
}

/** An existing secret stays, because it may protect other data. A restore that was killed may have created it. */
function restoreSecret(
  { config: { dataDir, secretKey }, io }: RestoreOptions,
  secret: string | undefined,
): void {
  const path = secretFile(dataDir);
  if (secret === undefined || secretKey !== undefined) return;
  if (!existsSync(path)) {
    securePrivateDataDir(dataDir, { strict: false });
    createSecretFile(dataDir, secret);
  }
  if (readFileSync(path, 'utf8').trim() !== secret.trim())
    print(
      io.stderr,
      `The secret key of the backup was not restored, because "${path}" exists. OAuth signing keys and stored responses of the backup need the secret key of the backup.`,
    );
}

async function restorePostgres(options: RestoreOptions) {
  const { config, log, file } = options;
  const database = await openDatabase({ config, log, isCommand: true });
  try {
    await database.watch.requireUsable({ direct: true });
    const work = (backup: OpenedBackup) =>
      database.alone((client) =>
        restoreInto(pgEndpoint(client), database.schema, backup, options, () =>
          restoreSecret(options, backup.head.files['secret-key']),
        ),
      );
    return (await readBackup(file, work)).result;
  } catch (error) {
    throw setupError('DATABASE_URL', error);
  } finally {
    await database.close();
  }
}

interface Options {
  readonly revokeApiKeys?: boolean;
}

/**
 * An interrupted restore leaves no visible data.
 * @throws {OperatorError | DatabaseError}
 */
async function restore(given: CommandServices, name: string, { revokeApiKeys = false }: Options) {
  const { database } = given.config;
  const progress = showProgress(given.io.stderr);
  const file = resolve(name);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
    throw new AdminError(
      `"${file}" is not a file. Nothing was changed. Name a file that "database backup" wrote.`,
    );
  const options = { ...given, file, revokeApiKeys, progress };
  const beganMs = performance.now();
  try {
    const restored = await (database.kind === 'embedded'
      ? restoreEmbedded(database.dataDir, options)
      : restorePostgres(options));
    return { ...restored, seconds: Math.round((performance.now() - beganMs) / 100) / 10 };
  } finally {
    progress.end();
  }
}

export const defineRestoreCommand: DefineCommands = ({ add, runWithout }) => {
  add(
    'database restore',
    'Restore a backup into an empty DATA_DIR or PostgreSQL, and revoke sessions and OAuth grants',
  )
    .argument('<file>', 'file that "database backup" wrote')
    .option('--revoke-api-keys', 'Revoke all API keys; default: list the API keys that work')
    .action((name: string, options: Options) => runWithout((given) => restore(given, name, options)));
};
