import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type App, type AppOptions, createApp } from './app.ts';
import { type DemoCredentials, prepareDemo, refuseSeeded } from './demo/seed.ts';
import { createNodeServer, type NodeServerOptions } from './http/server/node-server.ts';
import { atMost } from './platform/at-most.ts';
import { type Config, ownOrigin } from './platform/config.ts';
import { type Database, openDatabase } from './platform/db/database.ts';
import { migrate } from './platform/db/migrate.ts';
import type { Logger } from './platform/log.ts';
import { isLoopbackHost } from './platform/loopback.ts';

/** A listening service. */
export interface Service {
  /** The origin at which this machine reaches it. */
  readonly origin: string;
  readonly demo: DemoCredentials | undefined;
  /** Drains requests, ends event streams, then closes. Never throws. A second call awaits the first. */
  stop(): Promise<void>;
}

const DRAIN_LIMIT_MS = 10_000;
const IDLE_CHECK_MS = 50;
/** As many as the system allows: thousands of clients may connect at once. Node asks for 511. */
const LISTEN_BACKLOG = 65_535;

async function prepare(
  config: Config,
  database: Database,
  log: Logger,
): Promise<DemoCredentials | undefined> {
  const production = config.environment === 'production';
  if (database.kind === 'embedded' || !production) {
    const applied = await migrate(database);
    if (applied.length > 0) log.info({ migrations: applied }, 'applied migrations');
  }
  if (database.kind === 'embedded' && production) await refuseSeeded(database.prisma, config.dataDir);
  if (database.kind !== 'embedded' || config.environment !== 'development') return undefined;
  return prepareDemo(database.prisma, config.dataDir, Date.now());
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
    onCutOff: app.onCutOff,
    log,
  };
}

async function listen(server: Server, { host, port }: Config, log: Logger): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: LISTEN_BACKLOG }, resolve);
  });
  // For example, no file descriptor is left. Without a listener, the error would end the process.
  server.on('error', (error) => log.error({ err: error }, 'a connection could not be accepted'));
  const bound = server.address() as AddressInfo;
  return ownOrigin({ host, port: bound.port });
}

async function drain(server: Server, app: App): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  app.endStreams();
  // Idle keep-alive connections would delay the end, so each is closed once its response is sent.
  const closing = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  await atMost(DRAIN_LIMIT_MS, closed);
  clearInterval(closing);
  server.closeAllConnections();
}

/**
 * Opens the database, applies pending migrations if the settings allow it, and listens. `options` are passed
 * to the app. Throws the errors of all three steps.
 */
export async function startService(
  config: Config,
  log: Logger,
  options: Pick<AppOptions, 'lookAhead' | 'shareEvents'> = {},
): Promise<Service> {
  const database = await openDatabase({ config, log });
  try {
    const demo = await prepare(config, database, log);
    const demoKey = isLoopbackHost(config.host) ? demo?.apiKey : undefined;
    const app = createApp({ ...options, config, database, log, demoKey });
    const server = createNodeServer(nodeServerOptions(app, config, log));
    const origin = await listen(server, config, log);
    app.listensAt(origin);
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      app.announceShutdown();
      await delay(config.shutdownDelayMs);
      await drain(server, app);
      await app.close();
      await database.close();
    };
    return {
      origin,
      demo,
      stop: () => {
        stopping ??= stop().catch((error: unknown) =>
          log.error({ err: error }, 'the service did not stop cleanly'),
        );
        return stopping;
      },
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}
