import type { ClientConfig } from 'pg';
import type { Config } from '../config.ts';
import { createDeadline } from '../deadline.ts';
import type { Logger } from '../log.ts';
import { cancelStatement } from './cancel-statement.ts';
import type { EmbeddedAddress } from './embedded/address.ts';
import { startEmbeddedServer } from './embedded/server.ts';
import type { StatementControl } from './limited-client.ts';

/** The PostgreSQL server behind a Database: how to reach it, and what it cannot do by itself. */
export interface DatabaseServer extends StatementControl {
  /** For the pool. */
  readonly connection: ClientConfig;
  /** For migrations and LISTEN: past a connection pooler. */
  readonly direct: ClientConfig;
  readonly poolSize: number;
  /** Whether statements may have names. */
  readonly named: boolean;
  /** What a connection of the pool begins with. */
  readonly greeting?: string | undefined;
  /** What is run before a statement outside of a transaction, in one flight with it and in its transaction. */
  readonly alone?: string | undefined;
  /** Resolves once connections are taken. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Names of prepared statements are shared by all connections of the embedded server: one process alone uses them. */
  readonly namedStatements?: boolean;
}

const APPLICATION_NAME = 'content-graph-api';
const IDLE_IN_TRANSACTION_MS = 30_000;
/** What the answer to a statement may take past the statement's own limit. */
const ANSWER_MS = 2_000;
/** An administration command may have the embedded folder as the service starts; it is done within seconds. */
const FOLDER_PATIENCE_MS = 10_000;

/** What an operator has to know of the embedded database (contract section 8). */
const DURABILITY =
  'the embedded database keeps what it has answered through the death of the process and, on a disk that keeps what it has flushed, through a loss of power; it does not survive the loss of the disk, so keep copies of DATA_DIR';

/** How `pg` reaches an embedded server. */
export function embeddedConnection({ host, port, password = '' }: EmbeddedAddress): ClientConfig {
  return { host, port, user: 'postgres', password, database: 'postgres', ssl: false };
}

function postgresServer(
  database: Config['database'] & { kind: 'postgres' },
  statementLimitMs: number,
  named: boolean,
): DatabaseServer {
  const { url, directUrl, poolSize } = database;
  const pooled = url !== directUrl;
  const base = { application_name: APPLICATION_NAME };
  // A pooler refuses settings in the start-up message, and gives a statement's name to connections that don't know it.
  // What is set for a session would be another client's next: there each transaction brings its own limits.
  const settings = pooled
    ? {}
    : { statement_timeout: statementLimitMs, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS };
  return {
    connection: { connectionString: url, ...base, ...settings },
    direct: { connectionString: directUrl, ...base },
    poolSize,
    named: named && !pooled,
    // Its compiler takes longer than what it compiles (decision 17).
    greeting: pooled ? undefined : 'SET jit = off',
    alone: pooled
      ? `SELECT set_config('statement_timeout', '${statementLimitMs}', true), set_config('jit', 'off', true)`
      : undefined,
    begin: pooled
      ? `BEGIN; SET LOCAL jit = off; SET LOCAL statement_timeout = ${statementLimitMs}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`
      : undefined,
    // Prisma's single statements have none of that.
    statementLimitMs: pooled ? statementLimitMs : undefined,
    silence: createDeadline(statementLimitMs + ANSWER_MS),
    cancelSilence: createDeadline(ANSWER_MS),
    overrun: cancelStatement,
    cancel: cancelStatement,
    ready: async () => undefined,
    close: async () => undefined,
  };
}

/** The server that the settings name, started where it is embedded. Throws UnsafeFolderError, FolderInUseError, EmbeddedStartError. */
export async function openServer({
  config,
  log,
  namedStatements = true,
}: ServerOptions): Promise<DatabaseServer> {
  const statementLimitMs = config.statementTimeoutMs;
  if (config.database.kind === 'postgres')
    return postgresServer(config.database, statementLimitMs, namedStatements);
  const server = await startEmbeddedServer(config.database.dataDir, log, {
    patienceMs: FOLDER_PATIENCE_MS,
    strict: config.environment === 'production',
  });
  log.info({ dataDir: config.database.dataDir }, DURABILITY);
  const connection = embeddedConnection(server.address);
  return {
    connection,
    direct: connection,
    poolSize: 1,
    named: namedStatements,
    // It is one backend: what a connection before has prepared is still there, under names that this one is to give.
    greeting: namedStatements ? 'DEALLOCATE ALL' : undefined,
    statementLimitMs,
    // It answers as soon as it has committed: one that is ended before has not.
    lostIsUndone: true,
    // PGlite can neither time a statement out nor cancel it: its worker ends, and with it what was not committed.
    overrun() {
      server
        .restart('a statement ran past its time')
        .catch((error: unknown) => log.error({ err: error }, 'the embedded database did not come back'));
      return undefined;
    },
    // Whatever runs ends by itself within the limit; ending the worker would hit everybody else's work as well.
    cancel: async () => undefined,
    ready: server.ready,
    close: server.close,
  };
}
