import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../platform/config.ts';
import { connectDatabase, type Database, openDatabase } from '../platform/db/database.ts';
import { type EmbeddedAddress, isServed, publishedAddress } from '../platform/db/embedded/address.ts';
import { COMMAND } from '../platform/db/embedded/held-time.ts';
import { FolderInUseError } from '../platform/db/embedded/lock.ts';
import { startEmbeddedServer } from '../platform/db/embedded/server.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import { migrate, pendingMigrations } from '../platform/db/migrate.ts';
import { type DatabaseServer, embeddedServer } from '../platform/db/server.ts';
import { statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import { AdminError } from './output.ts';

/** The configured database, ready for a command. */
export interface Opened {
  readonly database: Database;
  readonly config: Config;
  /** The migrations applied when it was opened. */
  readonly applied: readonly string[];
}

export interface OpenOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Whether the command's task is to migrate. Otherwise a production PostgreSQL is not migrated. */
  readonly migrates: boolean;
  /** Whether it takes the database of any version, and leaves it at that. */
  readonly asIs?: boolean;
}

/** A process that holds the folder but accepts no connections is starting: slow on a busy machine. */
const START_WAIT_MS = 60_000;
/** A process that accepts connections should answer soon. */
const ANSWER_WAIT_MS = 20_000;
const RETRY_MS = 100;
/** Commands beside a server are short. Without a limit, one stopped in the middle of them would block them for ever. */
const QUERY_TIMEOUT_MS = 30_000;

/** The folder of the embedded database. Throws AdminError, with what to do `instead`, if the service has another one. */
export function embeddedFolder({ database }: Config, instead = 'unset it'): string {
  if (database.kind === 'embedded') return database.dataDir;
  throw new AdminError(
    `The command is for the embedded database in DATA_DIR, but DATABASE_URL names a PostgreSQL: ${instead}.`,
  );
}

/** The database of an embedded server for this process, which prepares nothing by name: the server's process may, too. */
const connectEmbedded = (
  address: EmbeddedAddress,
  connection: Parameters<typeof embeddedServer>[1],
  { ready, close }: Pick<DatabaseServer, 'ready' | 'close'>,
  log: Logger,
): Database =>
  connectDatabase(
    'embedded',
    {
      ...embeddedServer(address, connection),
      lockWaitMs: QUERY_TIMEOUT_MS,
      ready,
      close,
    },
    log,
  );

async function openOwnDatabase({ config, log }: OpenOptions): Promise<Database> {
  if (config.database.kind === 'postgres')
    return openDatabase({ config, log, namedStatements: false, waitsForLocks: true });
  const server = await startEmbeddedServer(config.database.dataDir, log, {
    shared: false,
    strict: config.environment === 'production',
  });
  return connectEmbedded(server.address, { application_name: server.own }, server, log);
}

/** Opens and migrates a data folder of DATA_DIR, which the caller has locked, that has another name until it is complete. */
export async function openCluster(config: Config, log: Logger, cluster: string): Promise<Opened> {
  const server = await startEmbeddedServer(config.dataDir, log, {
    shared: false,
    cluster,
    locked: true,
  });
  const database = connectEmbedded(server.address, { application_name: server.own }, server, log);
  try {
    return { database, config, applied: await migrate(database) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Opens the database exclusively. Throws FolderInUseError if a server holds it. */
export async function openAlone(options: OpenOptions): Promise<Opened> {
  const { config, migrates, asIs = false } = options;
  const database = await openOwnDatabase(options);
  try {
    if (asIs) return { database, config, applied: [] };
    // The same rule as when the service starts (contract section 8).
    const migrating = migrates || config.database.kind === 'embedded' || config.environment !== 'production';
    await database.watch.refuse({ direct: migrating });
    if (migrating) return { database, config, applied: await migrate(database) };
    const pending = await pendingMigrations(database);
    if (pending.length > 0)
      throw new AdminError(`Migrations are pending: ${pending.join(', ')}. Run "npm run db:migrate" first.`);
    return { database, config, applied: [] };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Where the settings of an installation under systemd are. */
const INSTALLED = '/etc/content-graph/settings.env';
const DEFAULT_DATA_DIR = '.data';

/** A command without settings would create a database that nobody has asked for. Throws AdminError. */
function refuseBesideInstallation({ database, environment }: Config): void {
  if (environment === 'production' || database.kind !== 'embedded') return;
  if (database.dataDir !== DEFAULT_DATA_DIR || existsSync(DEFAULT_DATA_DIR) || !existsSync(INSTALLED)) return;
  throw new AdminError(
    `There are no settings here, and those of an installation are in ${dirname(INSTALLED)}: run "content-graph-admin" with the same options. Nothing was created. For a new database in this folder, set DATA_DIR=./${DEFAULT_DATA_DIR}.`,
  );
}

const ALIVE = statement('admin_alive', 'SELECT 1');

/** Why the running server's database cannot be used yet. */
interface NotYet {
  readonly reason: string;
  /** Whether the server accepts connections and should answer soon. */
  readonly serves: boolean;
}

/**
 * Connects to an embedded database that another process serves and has migrated. Throws UnsafeFolderError.
 */
async function openBeside({ config, log, asIs = false }: OpenOptions): Promise<Opened | NotYet> {
  const address = publishedAddress(config.dataDir);
  if (address === undefined || !isServed(address))
    return {
      reason: 'It does not accept connections yet, or was started with another path of the folder.',
      serves: false,
    };
  const elsewhere = { ready: async () => undefined, close: async () => undefined };
  const connection = { application_name: COMMAND, query_timeout: QUERY_TIMEOUT_MS };
  const database = connectEmbedded(address, connection, elsewhere, log);
  try {
    if (asIs) await database.query(ALIVE, []);
    const pending = asIs ? [] : await pendingMigrations(database);
    if (pending.length === 0) return { database, config, applied: [] };
    await database.close();
    return { reason: `It lacks the migrations ${pending.join(', ')}: restart it.`, serves: true };
  } catch (error) {
    await database.close();
    if (error instanceof DatabaseError && error.kind === 'unavailable')
      return { reason: `It does not answer (${error.message}).`, serves: true };
    throw error;
  }
}

/**
 * Opens the configured database. Only one process at a time can hold the embedded one. If a server holds it,
 * the command connects through that server. Waits while the server starts, and takes the folder if the server
 * exits. Throws AdminError if neither happens, and the errors of opening and migrating.
 */
export async function openForCommand(options: OpenOptions): Promise<Opened> {
  refuseBesideInstallation(options.config);
  const startBy = performance.now() + START_WAIT_MS;
  let answerBy: number | undefined;
  for (;;) {
    try {
      return await openAlone(options);
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error;
    }
    const beside = await openBeside(options);
    if ('database' in beside) return beside;
    if (beside.serves) answerBy ??= performance.now() + ANSWER_WAIT_MS;
    if (performance.now() > (answerBy ?? startBy))
      throw new AdminError(
        `Another process has the embedded database in "${options.config.dataDir}", and the command cannot connect to it. ${beside.reason}`,
      );
    await delay(RETRY_MS);
  }
}
