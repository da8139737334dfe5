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

/** Files, the event loop, the log, Redis, LISTEN and connections that are being replaced need these descriptors. */
const OWN = 64;
/** The embedded database opens this many files of tables and indexes. */
const EMBEDDED_FILES = 256;
/** A low limit still leaves room for this many client connections, because fewer would make the service unusable. */
const FEWEST_CLIENTS = 16;

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
}

/** Undefined means that there is no limit or that the limit is unknown. */
function limitOf(): number | undefined {
  const { userLimits } = process.report.getReport() as Report;
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}

/**
 * Warns if the file descriptors are too few for `clients` connections in addition to the database.
 * @returns how many client connections fit, or undefined if the limit is unknown
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

/** A proxy with a shorter idle timeout closes all idle connections itself. */
const MAX_GRACE_MS = 5_000;
/** Every deployment must have room for this many client connections. */
const COMMON_CLIENTS = 500;

/** A stopping service still holds its port and its data directory. Opening the database waits for that service. */
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

/** Production does not load these modules. */
async function developmentRoutes(
  { environment, graphiql }: Config,
  demoKey: DemoKey | undefined,
): Promise<Route[]> {
  if (environment !== 'development') return [];
  const { developmentRoutes: routes } = await import('../features/development/routes.ts');
  return routes({ graphiql, demoKey });
}

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
 * Checks that the port is free, opens the database, applies pending migrations if the settings allow it, and listens.
 * If PostgreSQL is unreachable, the service listens first and waits.
 * @throws the errors of all steps
 */
export async function startService(
  config: Config,
  log: Logger,
  options: Pick<AppOptions, 'lookAhead' | 'shareEvents'> = {},
) {
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
      /** Clients on this machine reach the service at this origin. */
      origin,
      demo,
      /** The URLs of pages that show the demo key contain this token. Undefined if no page shows the key. */
      pageToken: demoKey?.pageToken,
      /**
       * Resolves to true once the database is usable, and to false if the service stops before.
       * @throws {OperatorError}
       */
      ready,
      /**
       * Drains requests, closes event streams, and then closes everything else. Never throws. A second call awaits
       * the first.
       */
      stop: (): Promise<void> => {
        stopping ??= stop().catch((error: unknown) => log.emit('service.shutdown_failed', { err: error }));
        return stopping;
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

export type Service = Awaited<ReturnType<typeof startService>>;
