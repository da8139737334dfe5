import { existsSync } from 'node:fs';
import { escapeIdentifier } from 'pg';
import { type AuthoredWork, audit, OPERATOR } from '../audit/audit.ts';
import { adoptEvents } from '../events/log-state.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import { setupError } from '../platform/db/contact.ts';
import { type Database, openDatabase } from '../platform/db/database.ts';
import { refuseNoDatabase } from '../platform/db/embedded/major-version.ts';
import { copyIn } from '../platform/db/transfer/copy-in.ts';
import { watchPieces } from '../platform/db/transfer/pieces.ts';
import { onClient, queryableOnSide } from '../platform/db/transfer/side.ts';
import { withSnapshot } from '../platform/db/transfer/snapshot.ts';
import type { Logger } from '../platform/log.ts';
import { secretFile } from '../platform/secret-key.ts';
import type { AdminCommand } from './command.ts';
import { embeddedFolder, openAlone } from './connection.ts';
import { parseDatabaseUrl } from './options.ts';
import { type CommandIo, tell, tellLeftOut } from './output.ts';
import { type Progress, showProgress } from './progress.ts';

/** What is not in the database, and where it is; undefined where there is none. */
function secretAdvice({ secretKey, dataDir }: Config): string | undefined {
  const file = secretFile(dataDir);
  if (secretKey === undefined && !existsSync(file)) return undefined;
  const found = secretKey === undefined ? `the content of "${file}"` : 'that of this service';
  return `Everything is in the new database but for SECRET_KEY: set it there to ${found}, or the OAuth signing keys are of no use.`;
}

/** In one transaction of the target, which ends up with everything or unchanged. */
const copy = (source: Database, target: Database, progress: Progress) =>
  source.alone((from) =>
    target.alone((client) =>
      withSnapshot(from, source.schema, async ({ contents, pieces }) => {
        const side = onClient(client);
        await side.rows('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
        const copied = await copyIn({
          ...{ target: side, schema: target.schema, origin: 'The embedded database', contents },
          pieces: watchPieces(pieces, progress.step),
        });
        // The rows of the target are those of the source, and this one.
        await side.rows(`SET LOCAL search_path = ${escapeIdentifier(target.schema)}`);
        const work: AuthoredWork = { ...queryableOnSide(side), author: OPERATOR };
        await adoptEvents(work);
        await audit(work, 'export-to', null);
        await side.rows('COMMIT');
        return copied;
      }),
    ),
  );

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
    const progress = showProgress(io.stderr);
    const { tables, leftOut } = await copy(source, target, progress)
      .catch((error: unknown) => Promise.reject(setupError('DATABASE_URL', error)))
      .finally(() => source.close())
      .finally(progress.end);
    tellLeftOut(io.stderr, leftOut);
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
