import { existsSync } from 'node:fs';
import { escapeIdentifier } from 'pg';
import { audit, OPERATOR } from '../audit/audit.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import { setupError } from '../platform/db/contact.ts';
import { type Database, openDatabase } from '../platform/db/database.ts';
import { refuseNoDatabase } from '../platform/db/embedded/major-version.ts';
import { holdMigrations, migrateLike } from '../platform/db/migrate.ts';
import { queryableOn } from '../platform/db/statement.ts';
import { contentOf } from '../platform/db/transfer/catalog.ts';
import { sourceOn, targetOn } from '../platform/db/transfer/client-side.ts';
import { type CopiedTable, copyDatabase } from '../platform/db/transfer/copy-database.ts';
import type { Logger } from '../platform/log.ts';
import { secretFile } from '../platform/secret-key.ts';
import type { AdminCommand } from './command.ts';
import { embeddedFolder, openAlone } from './connection.ts';
import { parseDatabaseUrl } from './options.ts';
import { AdminError, type CommandIo, tell } from './output.ts';
import { showProgress } from './progress.ts';

/** What is not in the database, and where it is; undefined where there is none. */
function secretAdvice({ secretKey, dataDir }: Config): string | undefined {
  const file = secretFile(dataDir);
  if (secretKey === undefined && !existsSync(file)) return undefined;
  const found = secretKey === undefined ? `the content of "${file}"` : 'that of this service';
  return `Everything is in the new database but for SECRET_KEY: set it there to ${found}, or the OAuth signing keys are of no use.`;
}

/** In one transaction of the target: it ends up with everything, or as it was. Throws OperatorError and pg's errors. */
async function copy(source: Database, target: Database): Promise<CopiedTable[]> {
  const [from, to] = [await source.dedicatedClient(), await target.dedicatedClient()];
  const progress = showProgress(process.stderr);
  try {
    // Nobody else can write to it meanwhile: there is one backend.
    await from.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await to.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    const into = { side: targetOn(to), schema: target.schema };
    await holdMigrations(into.side);
    const found = await contentOf(into.side, into.schema);
    if (found !== undefined)
      throw new AdminError(
        `The target is not empty: its schema "${into.schema}" has the ${found}. Name an empty database, or another schema of it with ?schema=NAME.`,
      );
    const origin = { side: sourceOn(from), schema: source.schema };
    await migrateLike(into.side, into.schema, origin.side);
    const tables = await copyDatabase({
      source: origin,
      target: into,
      progress: progress.step,
    });
    // The rows of the target are those of the source, and this one.
    const schema = escapeIdentifier(into.schema);
    await to.query(`SET LOCAL search_path = ${schema}`);
    await audit({ ...queryableOn(to), author: OPERATOR }, 'export-to', null);
    await to.query('COMMIT');
    return tables;
  } finally {
    progress.end();
    // This also ends the transactions.
    await Promise.allSettled([from.end(), to.end()]);
  }
}

async function exportTo({ config, log, io }: { config: Config; log: Logger; io: CommandIo }, url: string) {
  const startedMs = performance.now();
  refuseNoDatabase(embeddedFolder(config));
  const target = await openDatabase({
    config: loadConfig({ DATABASE_URL: url }),
    log,
    isCommand: true,
  });
  try {
    await target.watch.refuse({ direct: true });
    const { database: source } = await openAlone({ config, log, migrates: true });
    const tables = await copy(source, target)
      .catch((error: unknown) => Promise.reject(setupError('DATABASE_URL', error)))
      .finally(() => source.close());
    const advice = secretAdvice(config);
    if (advice !== undefined) tell(io.stderr, advice);
    return {
      tables,
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      seconds: Math.round(performance.now() - startedMs) / 1_000,
    };
  } finally {
    await target.close();
  }
}

/** `export-to DATABASE_URL`. */
export const exportCommand: AdminCommand = {
  name: 'export-to',
  description:
    'copies the embedded database, which no server may use meanwhile, into an empty PostgreSQL database',
  define(command, _run, runWithout) {
    command
      .argument('<DATABASE_URL>', 'the address of the PostgreSQL database', parseDatabaseUrl)
      .action((url: string) => runWithout((given) => exportTo(given, url)));
  },
};
