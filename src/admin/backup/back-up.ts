import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import type { Database } from '../../database/database.ts';
import { flushEntries } from '../../database/embedded/cluster.ts';
import { secretFile } from '../../database/embedded/data-dir.ts';
import { requireDatabase } from '../../database/embedded/major-version.ts';
import { watchPieces, withSnapshot } from '../../database/transfer/snapshot.ts';
import type { CommandServices, DefineCommands } from '../cli/connection.ts';
import { AdminError, type ProgressBar, showProgress } from '../cli/output.ts';
import {
  type BackupEnd,
  type BackupHead,
  createHead,
  readBackup,
  SECRET_FILES,
  writeBackup,
  writeError,
} from './backup-file.ts';

interface BackUpOptions extends CommandServices {
  readonly file: string;
  readonly withSecretKey: boolean;
  readonly progress: ProgressBar;
}

/** @throws {AdminError} if no backup can be written to `file`. */
function checkTarget(file: string, dataDir: string): void {
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      throw new AdminError(`Backup file "${file}" exists. Nothing was changed. Name a new file.`);
    if (statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new AdminError(
        `The directory of "${file}" does not exist. Nothing was changed. Create the directory.`,
      );
    if (!existsSync(dataDir)) return;
    const path = relative(realpathSync(dataDir), join(realpathSync(dirname(file)), basename(file)));
    const [top] = path.split(sep);
    // On Windows, the path to another drive starts with a drive letter.
    if (top !== '..' && !/^\w:$/.test(top ?? ''))
      throw new AdminError(
        `Backup file "${file}" is in DATA_DIR and would be lost with DATA_DIR. Nothing was changed. Name a file in another directory.`,
      );
  } catch (error) {
    throw writeError(file, error);
  }
}

function readSecrets({ config: { dataDir }, withSecretKey }: BackUpOptions): BackupHead['files'] {
  const there = withSecretKey ? SECRET_FILES.filter((name) => existsSync(join(dataDir, name))) : [];
  return Object.fromEntries(there.map((name) => [name, readFileSync(join(dataDir, name), 'utf8')]));
}

/** @returns the last line of the file. */
const writeSnapshot = (database: Database, draft: string, options: BackUpOptions) =>
  database.alone((client) =>
    withSnapshot(client, database.schema, async ({ contents, pieces }) => {
      if (contents.migrations.length === 0)
        throw new AdminError(
          'The database has no tables of the service. No backup was written. Set DATA_DIR or DATABASE_URL to the database of the service.',
        );
      const head = createHead(contents, readSecrets(options));
      return writeBackup(draft, head, watchPieces(pieces, options.progress.step));
    }),
  );

async function writeVerified(draft: string, options: BackUpOptions): Promise<BackupEnd> {
  const { file, open, progress } = options;
  const { database } = await open();
  const written = await writeSnapshot(database, draft, options).finally(() => database.close());
  progress.step('reading back');
  const { sha256 } = await readBackup(draft, async ({ pieces }) => {
    for await (const _piece of pieces);
  });
  if (sha256 !== written.sha256)
    throw new AdminError(
      `Backup "${file}" differs when it is read back. The file was deleted. Check the disk.`,
    );
  return written;
}

/**
 * The file has a temporary name until it is complete and was read back. A failed backup removes its file,
 * unless the process is killed.
 * @throws {AdminError | DatabaseError}
 */
async function backUp(given: CommandServices, file: string, withSecretKey: boolean) {
  const { dataDir, database } = given.config;
  const progress = showProgress(given.io.stderr);
  if (database.kind === 'embedded') requireDatabase(dataDir);
  checkTarget(file, dataDir);
  const beganMs = performance.now();
  const draft = `${file}.${randomUUID()}.part`;
  const discard = () => rmSync(draft, { force: true });
  // The exit event also covers SIGINT and SIGTERM.
  process.once('exit', discard);
  try {
    const { tables } = await writeVerified(draft, { ...given, file, withSecretKey, progress });
    checkTarget(file, dataDir);
    renameSync(draft, file);
    flushEntries(dirname(file));
    return {
      file,
      bytes: statSync(file).size,
      tables: Object.entries(tables).map(([name, { rows }]) => ({ name, rows })),
      secretKey: withSecretKey && existsSync(secretFile(dataDir)),
      seconds: Math.round((performance.now() - beganMs) / 100) / 10,
    };
  } catch (error) {
    throw writeError(file, error);
  } finally {
    process.off('exit', discard);
    progress.end();
    discard();
  }
}

interface Options {
  readonly withoutSecretKey?: boolean;
}

export const defineBackupCommand: DefineCommands = ({ add, runWithout, io }) => {
  add('database backup', 'Write a backup of the database, also while a server uses the database')
    .argument('<file>', 'new file, readable by its owner only')
    .option('--without-secret-key', 'Leave out the secret that encrypts OAuth signing keys')
    .action(async (name: string, { withoutSecretKey = false }: Options) => {
      const file = await io.input('file', async () => resolve(name));
      await runWithout((given) => backUp(given, file, !withoutSecretKey), { relayed: true });
    });
};
