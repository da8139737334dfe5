import pg from 'pg';
import type { Cancellable } from '../platform/fairness/fair-queue.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import type { DatabaseWatch } from './availability.ts';
import { DatabaseError, isConnectionLimit, toConnectError } from './errors.ts';
import { limitStatements, ServerClient } from './pg-client.ts';
import { messageOf } from './preflight.ts';
import type { DatabaseServer } from './server.ts';

const IDLE_TIMEOUT_MS = 30_000;
/** Detects a vanished peer on idle connections, without TCP's default delay of two hours. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

export function openPool(kind: 'embedded' | 'postgres', server: DatabaseServer): pg.Pool {
  return new pg.Pool({
    ...server.connection,
    Client: ServerClient,
    max: server.poolSize,
    idleTimeoutMillis: kind === 'embedded' ? 0 : IDLE_TIMEOUT_MS,
    ...KEEP_ALIVE,
    async onConnect(client) {
      limitStatements(client, server);
      server.notifications?.hear(client);
      if (server.greeting !== undefined) await client.query(server.greeting);
    },
  });
}

/** @param limited applies the time limits of the pool to the statements. */
export async function openClient(server: DatabaseServer, limited: boolean): Promise<pg.Client> {
  const client = new ServerClient({ ...server.direct, ...KEEP_ALIVE });
  // The connection may break before the caller adds a listener. The first statement then reports the error.
  client.on('error', () => undefined);
  await client.connect().catch((error: unknown) => Promise.reject(toConnectError(error)));
  if (limited) limitStatements(client, server);
  server.notifications?.hear(client);
  await client.query(server.directGreeting);
  return client;
}

export async function serverReady(server: DatabaseServer): Promise<void> {
  try {
    await server.ready();
  } catch (error) {
    throw new DatabaseError('unavailable', error);
  }
}

interface ConnectionsOptions {
  readonly pool: pg.Pool;
  readonly server: DatabaseServer;
  /** Undefined for a supervised server, where a rejected connection waits for the restart of the server. */
  readonly watch: Pick<DatabaseWatch, 'broke'> | undefined;
  readonly log: Logger;
}

/** Pause of the attempts to open a further connection. */
const FULL_MS = 1_000;

/**
 * Connections from before the end of a read-only phase are replaced. At the connection limit of the
 * server, requests wait for a connection of another request. A request waits only while another request has a
 * connection or tries to open one, so no request waits forever.
 */
export function createConnections({ pool, server, watch, log }: ConnectionsOptions) {
  const full = createOutageReporter(
    log,
    'database.connection_limit_reached',
    'database.connection_limit_recovered',
  );
  const waiting = new Set<PromiseWithResolvers<pg.PoolClient>>();
  let current = new WeakSet<pg.PoolClient>();
  let fullUntilMs = Number.NEGATIVE_INFINITY;
  let lentCount = 0;
  let attemptCount = 0;
  pool.on('connect', (client) => {
    // Without an error listener, a broken connection would crash the process.
    current.add(client.on('error', () => undefined));
    if (performance.now() >= fullUntilMs) full.over();
  });

  function isGood(client: pg.PoolClient): boolean {
    const { stream } = client.connection;
    return current.has(client) && stream.readable && stream.writable;
  }

  async function next(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect();
      if (current.has(client)) return client;
      client.release(true);
    }
  }

  function wait(cancellation: Cancellable | undefined): Promise<pg.PoolClient> {
    const waiter = Promise.withResolvers<pg.PoolClient>();
    waiting.add(waiter);
    const stay = cancellation?.onCancel(() => {
      if (waiting.delete(waiter))
        waiter.reject(new DatabaseError('timeout', new Error('cancelled while waiting')));
    });
    return waiter.promise.finally(stay);
  }

  async function open(cancellation?: Cancellable): Promise<pg.PoolClient> {
    attemptCount += 1;
    let failure: unknown;
    try {
      const client = await next();
      lentCount += 1;
      return client;
    } catch (error) {
      failure = error;
    } finally {
      attemptCount -= 1;
    }
    if (watch === undefined) {
      // A restarting server rejects connections for a moment.
      await serverReady(server);
      const client = await next().catch((again: unknown) => Promise.reject(toConnectError(again)));
      lentCount += 1;
      return client;
    }
    if (pool.idleCount > 0) return open(cancellation);
    const isLimit = isConnectionLimit(failure);
    if (!isLimit) watch.broke(failure);
    // A server at its limit may accept some of several concurrent attempts.
    if (lentCount > 0 || (isLimit && attemptCount > 0)) {
      fullUntilMs = performance.now() + FULL_MS;
      if (isLimit && lentCount > 0) full.failed({ reason: messageOf(failure), openCount: lentCount });
      return wait(cancellation);
    }
    if (isLimit) watch.broke(failure);
    const reason = toConnectError(failure);
    if (attemptCount === 0) for (const { reject } of waiting) reject(reason);
    if (attemptCount === 0) waiting.clear();
    throw reason;
  }

  return {
    get isConnected(): boolean {
      return lentCount > 0 || pool.idleCount > 0;
    },
    renew(): void {
      current = new WeakSet();
    },
    /** @throws {DatabaseError} */
    connect(cancellation?: Cancellable): Promise<pg.PoolClient> {
      const isFull = lentCount > 0 && pool.idleCount === 0 && performance.now() < fullUntilMs;
      return isFull ? wait(cancellation) : open(cancellation);
    },
    /**
     * Passes a good connection to a request that waits here, or to `leave`. `leave` frees the slot of the
     * request, and returns false if no request wants the connection.
     */
    giveBack(
      client: pg.PoolClient,
      error: Error | undefined,
      leave: (passedOn?: pg.PoolClient) => boolean,
    ): void {
      const isReusable = error === undefined && isGood(client);
      const [waiter] = waiting;
      if (waiter !== undefined) waiting.delete(waiter);
      if (isReusable && waiter !== undefined) {
        waiter.resolve(client);
        leave();
        return;
      }
      if (isReusable && leave(client)) return;
      lentCount -= 1;
      client.release(error ?? !isReusable);
      if (waiter !== undefined) open().then(waiter.resolve, waiter.reject);
      if (!isReusable) leave();
    },
  };
}
