import type pg from 'pg';
import type { Config } from '../platform/config/config.ts';
import { createDeadline } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import { cancelStatement } from './cancellation.ts';
import { findDataDirProblem } from './embedded/data-dir.ts';
import { startEmbeddedServer } from './embedded/server.ts';
import {
  CONNECT_TIMEOUT_MS,
  connectionTo,
  type ServerConnection,
  type StatementControl,
} from './pg-client.ts';
import type { ServerAddress } from './preflight.ts';
import {
  CREDENTIALS_CHANNEL,
  DEFAULT_SCHEMA,
  DOCUMENTS_CHANNEL,
  RESTRICTIONS_CHANNEL,
  settingsSql,
} from './session-settings.ts';

type NotificationListener = (notification: pg.Notification | undefined) => void;

function createNotifications() {
  const listeners = new Set<NotificationListener>();
  const tell: NotificationListener = (notification) => {
    for (const listener of listeners) listener(notification);
  };
  return {
    hear: (client: pg.ClientBase) => void client.on('notification', tell).on('end', () => tell(undefined)),
    /**
     * Calls `listener` without a notification after a connection was lost, because notifications may be lost
     * with it.
     * @returns a function that removes the listener.
     */
    notified(listener: NotificationListener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

const INTERVAL_MS = 10_000;

/** Reports problems of the data directory before a write fails. */
function watchDataDir(dataDir: string, log: Logger): { close(): void } {
  const outage = createOutageReporter(
    log,
    'embedded_db.data_dir_unhealthy',
    'embedded_db.data_dir_recovered',
  );
  const timer = setInterval(() => {
    const problem = findDataDirProblem(dataDir);
    if (problem === undefined) outage.over();
    else outage.failed({ ...problem });
  }, INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };
}

export interface DatabaseServer extends StatementControl {
  readonly connection: ServerConnection;
  /** Bypasses a connection pooler, for migrations and LISTEN. */
  readonly direct: ServerConnection;
  readonly poolSize: number;
  /** `direct` bypasses a pooler and is set only if there is a pooler. */
  readonly watched: { readonly server: ServerAddress; readonly direct?: ServerAddress | undefined };
  readonly named: boolean;
  readonly schema: string;
  /** SQL to run on each new connection of the pool. */
  readonly greeting?: string | undefined;
  /** SQL to run on each connection that bypasses the pooler. */
  readonly directGreeting: string;
  /** SQL to run before a statement outside a transaction, in the same round trip and implicit transaction. */
  readonly alone?: string | undefined;
  readonly lockWaitMs: number;
  /** Set if a notification arrives only on the connection that has sent the notification. */
  readonly notifications?: ReturnType<typeof createNotifications>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly config: Config;
  readonly log: Logger;
  /**
   * True for an admin command in a separate process. A command waits for locks without a limit, because
   * retries of requests could otherwise overtake it forever. A command does not wait for a locked data
   * directory.
   */
  readonly isCommand?: boolean;
}

const APPLICATION_NAME = 'content-graph-api';
const IDLE_IN_TRANSACTION_MS = 30_000;
/**
 * After the longest wait for a lock, the request's transaction restarts without any lock
 * (decisions/0014-lock-ordering.md).
 */
const LOCK_LIMIT_MS = 300;
/**
 * Idle and interval in seconds. The server releases the locks of a vanished client after 20 s instead of two
 * hours.
 */
const GONE = { tcp_keepalives_idle: 10, tcp_keepalives_interval: 5, tcp_keepalives_count: 2 };
/** The response may arrive after the time limit of the statement. */
const RESPONSE_MS = 2_000;
/**
 * An admin command may have locked the data directory when the service starts, and finishes within seconds.
 */
const FOLDER_PATIENCE_MS = 10_000;

function postgresServer(
  database: Config['database'] & { kind: 'postgres' },
  statementLimitMs: number,
  { config, isCommand = false }: ServerOptions,
): DatabaseServer {
  const { url, directUrl, poolSize, schema = DEFAULT_SCHEMA } = database;
  const pooled = url !== directUrl;
  const limits = { statement_timeout: statementLimitMs, lock_timeout: isCommand ? 0 : LOCK_LIMIT_MS };
  // A command that waits for locks may wait in a transaction.
  const transactionLimitMs = isCommand ? undefined : config.operationTimeoutMs + IDLE_IN_TRANSACTION_MS;
  const base = { application_name: APPLICATION_NAME };
  // A pooler rejects settings in the startup message and shares sessions between clients. Prepared statements
  // may be missing, and session settings would leak. So each transaction sets its limits. PostgreSQL starts
  // the timer of transaction_timeout when a running transaction sets it.
  const settings = pooled
    ? {}
    : { statement_timeout: statementLimitMs, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS };
  const connection = { ...connectionTo(url), ...base, ...settings };
  const direct = { ...connectionTo(directUrl), ...base };
  const address = { schema: database.schema, hasSessions: true };
  return {
    connection,
    direct,
    watched: {
      server: { ...address, setting: 'DATABASE_URL', connection, hasSessions: !pooled },
      direct: pooled ? { ...address, setting: 'DIRECT_DATABASE_URL', connection: direct } : undefined,
    },
    poolSize,
    named: !pooled,
    schema,
    greeting: pooled ? undefined : settingsSql({ schema, limits, transactionLimitMs }),
    directGreeting: settingsSql({ schema, limits: { statement_timeout: 0, ...GONE } }),
    alone: pooled ? settingsSql({ schema, local: true, limits }) : undefined,
    // The isolation level of a transaction is fixed before its first statement.
    begin: pooled
      ? `BEGIN ISOLATION LEVEL READ COMMITTED; ${settingsSql({ schema, local: true, limits: { ...limits, idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS }, transactionLimitMs })}`
      : undefined,
    // The limit covers statements without a separate limit, such as BEGIN.
    statementLimitMs: pooled ? statementLimitMs : undefined,
    lockWaitMs: statementLimitMs,
    silence: createDeadline(statementLimitMs + RESPONSE_MS),
    cancelSilence: createDeadline(RESPONSE_MS),
    overrun: cancelStatement,
    cancel: cancelStatement,
    ready: async () => undefined,
    close: async () => undefined,
  };
}

/** DEALLOCATE drops prepared statements of an earlier connection, which are still in the session. */
const embeddedGreeting = () =>
  [
    'DEALLOCATE ALL',
    ...[CREDENTIALS_CHANNEL, DOCUMENTS_CHANNEL, RESTRICTIONS_CHANNEL].map((channel) => `LISTEN ${channel}`),
    settingsSql({ schema: DEFAULT_SCHEMA }),
  ].join('; ');

async function embeddedServer(
  dataDir: string,
  { config, log, isCommand = false }: ServerOptions,
): Promise<DatabaseServer> {
  const server = await startEmbeddedServer(dataDir, log, {
    patienceMs: isCommand ? 0 : FOLDER_PATIENCE_MS,
    strict: config.environment === 'production',
  });
  const connection: ServerConnection = {
    ...{ user: 'postgres', database: 'postgres', ssl: false },
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    stream: server.createStream,
  };
  const watch = isCommand ? undefined : watchDataDir(dataDir, log);
  if (!isCommand) log.emit('embedded_db.durability', { dataDir });
  return {
    connection,
    direct: connection,
    watched: { server: { setting: 'DATA_DIR', connection, schema: undefined, hasSessions: true } },
    poolSize: 1,
    named: true,
    schema: DEFAULT_SCHEMA,
    greeting: embeddedGreeting(),
    directGreeting: settingsSql({ schema: DEFAULT_SCHEMA }),
    notifications: createNotifications(),
    statementLimitMs: isCommand ? undefined : config.statementTimeoutMs,
    lockWaitMs: config.statementTimeoutMs,
    // The embedded database responds as soon as it has committed, so a statement without a response has not
    // committed.
    lostIsUndone: true,
    // PGlite can neither time out nor cancel a statement. A restart of its worker drops uncommitted work. A
    // cancelled statement is left to its time limit, because a restart would abort the work of all requests.
    overrun() {
      server
        .restart('a statement exceeded its time limit')
        .catch((error: unknown) => log.emit('embedded_db.restart_failed', { err: error }, 'debug'));
      return undefined;
    },
    ready: server.ready,
    async close() {
      watch?.close();
      await server.close();
    },
  };
}

/** @throws the errors of `startEmbeddedServer`. */
export async function openServer(options: ServerOptions): Promise<DatabaseServer> {
  const { database, statementTimeoutMs } = options.config;
  return database.kind === 'postgres'
    ? postgresServer(database, statementTimeoutMs, options)
    : embeddedServer(database.dataDir, options);
}
