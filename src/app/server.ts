import { setTimeout as delay } from 'node:timers/promises';
import { listenForCommands } from '../admin/socket/admin-listener.ts';
import { hasSafeSocket } from '../admin/socket/messages.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { logMigrationState, migrate } from '../database/migrate.ts';
import { assertNotSeeded } from '../database/preflight.ts';
import type { DemoCredentials } from '../features/development/demo-data.ts';
import type { Route } from '../http/exchange.ts';
import type { DemoKey } from '../http/local-request.ts';
import { drain, limitConnections, listen, requireFreePort } from '../http/server/listen.ts';
import { createNodeServer, type NodeServerOptions } from '../http/server/node-server.ts';
import type { Config } from '../platform/config/config.ts';
import { isLoopbackHost } from '../platform/ip-address.ts';
import type { Logger } from '../platform/log/log.ts';
import { build } from '../platform/process.ts';
import { openTracing } from '../platform/tracing/open-tracing.ts';
import { type App, type AppOptions, createApp } from './create-app.ts';

/** For files, the event loop, the log, Redis, LISTEN, and connections that are being replaced. */
const OWN = 64;
/** What the embedded database keeps open of its tables and indexes. */
const EMBEDDED_FILES = 256;
/** Connections of clients however low the limit is: with fewer, nobody could use the service. */
const FEWEST_CLIENTS = 16;

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** How many file descriptors the process may have open; undefined if there is no limit or it is not known. */
function limitOf(): number | undefined {
  const { userLimits } = process.report.getReport() as Report;
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/**
 * Returns for how many connections of clients there are file descriptors beside those of the database; undefined if the
 * limit is not known. Warns at start if these are fewer than `clients`.
 */
function checkFileDescriptors(
  log: Logger,
  needed: { database: number; clients: number },
): number | undefined {
  const limit = limitOf();
  if (limit === undefined) return undefined;
  const enough = needed.database + needed.clients + OWN;
  if (limit < enough) log.emit('service.file_limit_low', { limit, recommended: enough });
  return Math.max(FEWEST_CLIENTS, limit - needed.database - OWN);
}

/** A listening service. */
export interface Service {
  /** The origin at which this machine reaches it. */
  readonly origin: string;
  readonly demo: DemoCredentials | undefined;
  /** In the addresses of the pages that show the demo key; undefined if none does. */
  readonly pageToken: string | undefined;
  /**
   * Resolves to true once the database can be used, and to false if the service is stopped before.
   * @throws {OperatorError}
   */
  readonly ready: Promise<boolean>;
  /** Drains requests, ends event streams, then closes. Never throws. A second call awaits the first. */
  stop(): Promise<void>;
}

/** Proxies that close idle connections after a shorter time close all of them themselves. */
const MAX_GRACE_MS = 5_000;
/** Connections of clients that every deployment must have room for. */
const COMMON_CLIENTS = 500;

/** A service that is stopping still holds its port and its data directory. Opening the database waits for it. */
const mayBeStopping = ({ database }: Config): boolean =>
  database.kind === 'embedded' && hasSafeSocket(database.dataDir);

async function prepare(
  config: Config,
  database: Database,
  log: Logger,
): Promise<DemoCredentials | undefined> {
  const production = config.environment === 'production';
  if (database.kind === 'embedded' || !production) {
    const applied = await migrate(database);
    if (applied.length > 0) log.emit('migrations.applied', { migrations: applied });
  }
  await logMigrationState(database, log);
  if (production) await assertNotSeeded(database, config.dataDir);
  if (database.kind !== 'embedded' || config.environment !== 'development') return undefined;
  const { prepareDemo } = await import('../features/development/demo-data.ts');
  return prepareDemo(database, config.dataDir, Date.now());
}

/** In production, nothing of them is loaded. */
async function developmentRoutes(
  { environment, graphiql }: Config,
  demoKey: DemoKey | undefined,
): Promise<Route[]> {
  if (environment !== 'development') return [];
  const { developmentRoutes: routes } = await import('../features/development/routes.ts');
  return routes({ graphiql, demoKey });
}

/** The options for serving an app over sockets. */
export function nodeServerOptions(app: App, config: Config, log: Logger): NodeServerOptions {
  return {
    handle: app.handle,
    fastPath: app.fastPath,
    pending: app.pending,
    maxBodyBytes: config.maxBodyBytes,
    maxBufferedBodyBytes: config.maxBufferedBodyBytes,
    timeoutMs: config.requestTimeoutMs,
    keepAliveTimeoutMs: config.keepAliveTimeoutMs,
    onCutOff: app.onCutOff,
    log,
  };
}

/**
 * Sees that the port is free, opens the database, applies pending migrations if the settings allow it, and listens. If a
 * PostgreSQL server cannot be reached, it listens first and waits. `options` are passed to the app. Throws the errors of all steps.
 */
export async function startService(
  config: Config,
  log: Logger,
  options: Pick<AppOptions, 'lookAhead' | 'shareEvents'> = {},
): Promise<Service> {
  const descriptors = config.database.kind === 'postgres' ? config.database.poolSize : EMBEDDED_FILES;
  const most = checkFileDescriptors(log, { database: descriptors, clients: COMMON_CLIENTS });
  if (!mayBeStopping(config)) await requireFreePort(config);
  const database = await openDatabase({ config, log });
  try {
    let demo: DemoCredentials | undefined;
    const use = async () => {
      demo = await prepare(config, database, log);
    };
    const { ready } = await database.watch.start(use);
    const demoKey = isLoopbackHost(config.host) ? demo : undefined;
    const routes = await developmentRoutes(config, demoKey);
    const tracing = await openTracing(config.tracing, build().version, log);
    const app = createApp({ ...options, config, database, log, demoKey, routes, tracing });
    let draining = false;
    const server = createNodeServer({ ...nodeServerOptions(app, config, log), closing: () => draining });
    const origin = await listen(server, config);
    const accepting = limitConnections(server, { most, log });
    app.listensAt(origin);
    const commands =
      config.database.kind === 'embedded'
        ? await listenForCommands(config.database.dataDir, { config, database, log })
        : undefined;
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      database.watch.close();
      app.announceShutdown();
      await delay(config.shutdownDelayMs);
      await drain(server, {
        graceMs: Math.min(config.shutdownDelayMs, MAX_GRACE_MS),
        onDeaf() {
          draining = true;
          app.endStreams();
        },
      });
      accepting.close();
      await commands?.close();
      await app.close();
      await database.close();
    };
    return {
      origin,
      demo,
      pageToken: demoKey?.pageToken,
      ready,
      stop: () => {
        stopping ??= stop().catch((error: unknown) => log.emit('service.shutdown_failed', { err: error }));
        return stopping;
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
