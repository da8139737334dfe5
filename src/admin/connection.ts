import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../platform/config.ts';
import { connectDatabase, type Database, openDatabase } from '../platform/db/database.ts';
import { type EmbeddedAddress, isServed, publishedAddress } from '../platform/db/embedded/address.ts';
import { FolderInUseError } from '../platform/db/embedded/lock.ts';
import { startEmbeddedServer } from '../platform/db/embedded/server.ts';
import { DatabaseError } from '../platform/db/errors.ts';
import { migrate, pendingMigrations } from '../platform/db/migrate.ts';
import { embeddedConnection } from '../platform/db/server.ts';
import type { Logger } from '../platform/log.ts';
import { AdminError } from './output.ts';

/** The database of the settings, ready for a command. */
export interface Opened {
  readonly database: Database;
  readonly config: Config;
  /** The migrations that opening it has applied. */
  readonly applied: readonly string[];
}

export interface OpenOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Whether the command is there to migrate. Otherwise a production PostgreSQL is left as it is. */
  readonly migrates: boolean;
}

/** Who has the folder and takes no connections is starting, which takes seconds, or on a busy machine many. */
const START_WAIT_MS = 60_000;
/** Who takes connections should answer them. */
const ANSWER_WAIT_MS = 20_000;
const RETRY_MS = 100;
/** No command runs long; a server that was stopped in the middle of one would hold it for ever. */
const QUERY_TIMEOUT_MS = 30_000;

/** The embedded server as a pool reaches it from here. */
function embeddedServer(
  address: EmbeddedAddress,
  { ready, close }: { ready(): Promise<void>; close(): Promise<void> },
) {
  const connection = { ...embeddedConnection(address), query_timeout: QUERY_TIMEOUT_MS };
  const nothing = () => undefined;
  return {
    connection,
    direct: connection,
    poolSize: 1,
    // All connections share one backend: a named statement of ours would collide with one of the server's.
    named: false,
    overrun: nothing,
    cancel: async () => undefined,
    ready,
    close,
  };
}

async function openOwnDatabase({ config, log }: OpenOptions): Promise<Database> {
  if (config.database.kind === 'postgres') return openDatabase({ config, log, namedStatements: false });
  const server = await startEmbeddedServer(config.database.dataDir, log, {
    shared: false,
    strict: config.environment === 'production',
  });
  return connectDatabase('embedded', embeddedServer(server.address, server), log);
}

/** Takes the database for itself. Throws FolderInUseError where a server has it. */
async function openOwn(options: OpenOptions): Promise<Opened> {
  const { config, migrates } = options;
  const database = await openOwnDatabase(options);
  try {
    // The rule of the service's own start (contract section 8).
    if (migrates || config.database.kind === 'embedded' || config.environment !== 'production')
      return { database, config, applied: await migrate(database) };
    const pending = await pendingMigrations(database);
    if (pending.length > 0)
      throw new AdminError(`Migrations are pending: ${pending.join(', ')}. Run "npm run db:migrate" first.`);
    return { database, config, applied: [] };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Why the database of a running server cannot be used yet. */
interface NotYet {
  readonly reason: string;
  /** Whether it takes connections, and should answer them before long. */
  readonly serves: boolean;
}

/** Connects to the embedded database that another process serves, once that one has migrated it. Throws UnsafeFolderError. */
async function openBeside({ config, log }: OpenOptions): Promise<Opened | NotYet> {
  const address = publishedAddress(config.dataDir);
  if (address === undefined || !isServed(address))
    return { reason: 'It takes no connections yet.', serves: false };
  const elsewhere = { ready: async () => undefined, close: async () => undefined };
  const database = connectDatabase('embedded', embeddedServer(address, elsewhere), log);
  try {
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return { database, config, applied: [] };
    await database.close();
    return { reason: `It lacks the migrations ${pending.join(', ')}: start it again.`, serves: true };
  } catch (error) {
    await database.close();
    if (error instanceof DatabaseError && error.kind === 'unavailable')
      return { reason: `It does not answer (${error.message}).`, serves: true };
    throw error;
  }
}

/**
 * Opens the database that the settings name. The embedded one belongs to one process at a time: where the folder is
 * taken, the command goes through the server that has it. A server that is starting is waited for, and one that dies
 * meanwhile leaves the folder free. Throws AdminError when neither comes to pass, and what opening and migrating throw.
 */
export async function openForCommand(options: OpenOptions): Promise<Opened> {
  const startBy = performance.now() + START_WAIT_MS;
  let answerBy: number | undefined;
  for (;;) {
    try {
      return await openOwn(options);
    } catch (error) {
      if (!(error instanceof FolderInUseError)) throw error;
    }
    const beside = await openBeside(options);
    if ('database' in beside) return beside;
    if (beside.serves) answerBy ??= performance.now() + ANSWER_WAIT_MS;
    if (performance.now() > (answerBy ?? startBy))
      throw new AdminError(
        `Another process has the embedded database in "${options.config.dataDir}", and the command does not get through to it. ${beside.reason}`,
      );
    await delay(RETRY_MS);
  }
}
