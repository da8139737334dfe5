import { existsSync } from 'node:fs';
import { type AuthoredWork, audit, OPERATOR } from '../../auth/audit.ts';
import { type Database, openDatabase } from '../../database/database.ts';
import { secretFile } from '../../database/embedded/data-dir.ts';
import { requireDatabase } from '../../database/embedded/major-version.ts';
import { setupError } from '../../database/preflight.ts';
import { copyIn } from '../../database/transfer/copy-in.ts';
import { pgEndpoint, queryableOn } from '../../database/transfer/endpoints.ts';
import { watchPieces, withSnapshot } from '../../database/transfer/snapshot.ts';
import { adoptEvents, renewLog } from '../../engine/events/log-state.ts';
import { type Config, loadConfig } from '../../platform/config/config.ts';
import { type CommandServices, type DefineCommands, type Opened, openAlone } from '../cli/connection.ts';
import { parseDatabaseUrl } from '../cli/options.ts';
import { AdminError, type ProgressBar, print, printSkippedTables, showProgress } from '../cli/output.ts';

/** The secret is not in the database, so an operator must copy it separately. */
function secretAdvice({ secretKey, dataDir }: Config): string | undefined {
  const file = secretFile(dataDir);
  if (secretKey === undefined && !existsSync(file)) return undefined;
  const found = secretKey === undefined ? `the content of "${file}"` : 'the SECRET_KEY of this service';
  return `The new database has everything except SECRET_KEY. Set SECRET_KEY of the service on the new database to ${found}, or the service cannot decrypt its OAuth signing keys.`;
}

/** One transaction ensures that a failed copy leaves the target unchanged. */
const copy = (source: Database, target: Database, progress: ProgressBar) =>
  source.alone((from) =>
    target.alone((client) =>
      withSnapshot(from, source.schema, async ({ contents, pieces }) => {
        const endpoint = pgEndpoint(client);
        await endpoint.rows('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
        const copied = await copyIn({
          ...{ target: endpoint, schema: target.schema, origin: 'The embedded database', contents },
          pieces: watchPieces(pieces, progress.step),
        });
        const work: AuthoredWork = { ...queryableOn(endpoint), author: OPERATOR };
        await adoptEvents(work);
        await audit(work, 'database.copy-to', null);
        await endpoint.rows('COMMIT');
        return copied;
      }),
    ),
  );

async function copyTo({ config, log, io }: CommandServices, url: string) {
  const startedMs = performance.now();
  if (config.database.kind !== 'embedded')
    throw new AdminError(
      'This command needs the embedded database in DATA_DIR, but DATABASE_URL is set: unset it. Nothing was changed.',
    );
  requireDatabase(config.database.dataDir);
  const target = await openDatabase({
    config: loadConfig({ DATABASE_URL: url }),
    log,
    isCommand: true,
  });
  try {
    await target.watch.requireUsable({ direct: true });
    const { database: source } = await openAlone({ config, log, migrates: true });
    const progress = showProgress(io.stderr);
    const { tables, leftOut } = await copy(source, target, progress)
      .catch((error: unknown) => Promise.reject(setupError('DATABASE_URL', error)))
      .finally(() => source.close())
      .finally(progress.end);
    printSkippedTables(io.stderr, leftOut);
    const advice = secretAdvice(config);
    if (advice !== undefined) print(io.stderr, advice);
    return {
      tables,
      rows: tables.reduce((sum, { rows }) => sum + rows, 0),
      seconds: Math.round(performance.now() - startedMs) / 1_000,
    };
  } finally {
    await target.close();
  }
}

export const defineCopyCommand: DefineCommands = ({ add, runWithout }) => {
  add('database copy-to', 'Copy the embedded database of a stopped server into an empty PostgreSQL database')
    .argument('<DATABASE_URL>', 'URL of the PostgreSQL database', parseDatabaseUrl)
    .action((url: string) => runWithout((given) => copyTo(given, url)));
};

async function recordMigrations({ database, applied }: Opened) {
  // Prisma Migrate's table, which is older than the audit log, also records each migration.
  if (applied.length > 0)
    await database
      .unitOfWork({ author: OPERATOR })
      .run((work) => audit(work, 'database.migrate', null, { applied }));
  return { applied };
}

export const defineMigrateCommand: DefineCommands = ({ add, run }) => {
  add('database', 'Migrate, back up, restore and copy the database');
  add('database migrate', 'Apply the pending migrations and print their names').action(() =>
    run(recordMigrations, { migrates: true }),
  );
};

/** Operators run this command after a restore that has lost events. */
async function renew({ database }: Opened) {
  const { first } = await renewLog(database, (transaction, state) =>
    audit({ ...transaction, author: OPERATOR }, 'event-log.reset', null, {
      firstEventChecksum: state.first.checksum,
    }),
  );
  return { firstEventChecksum: first.checksum };
}

export const defineEventLogCommands: DefineCommands = ({ add, command }) => {
  add('event-log', 'Manage the log behind the event streams');
  command(
    'event-log reset',
    'Start a new generation of the event log; earlier event ids return EVENT_HISTORY_EXPIRED',
    renew,
  );
};

/** The server, and not the command, writes the entries. Other commands do not load the module. */
async function rebuild({ database }: Opened) {
  const { rebuildIndex } = await import('../../schema/search/index-store.ts');
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const rebuilding = await rebuildIndex(work);
    await audit(work, 'search.rebuild', null);
    return { rebuilding };
  });
}

export const defineSearchCommands: DefineCommands = ({ add, command }) => {
  add('search', 'Manage the search index');
  command('search rebuild', 'Make the server write all of the search index again', rebuild);
};
