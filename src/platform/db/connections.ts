import { Socket } from 'node:net';
import pg from 'pg';
import type { Logger } from '../log.ts';
import { createOutageLog, type OutageLog } from '../outage-log.ts';
import { messageOf } from './contact.ts';
import { DatabaseError, isConnectionLimit, toDatabaseError } from './errors.ts';
import { limitStatements } from './limited-client.ts';
import type { DatabaseServer } from './server.ts';
import type { DatabaseWatch } from './watch.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 30_000;
/** Detects a vanished peer on idle connections, without TCP's default delay of two hours. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** A pool of connections whose statements are limited. */
export function openPool(kind: 'embedded' | 'postgres', server: DatabaseServer): pg.Pool {
  return new pg.Pool({
    ...server.connection,
    max: server.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: kind === 'embedded' ? 0 : IDLE_TIMEOUT_MS,
    ...KEEP_ALIVE,
    async onConnect(client) {
      limitStatements(client, server);
      if (server.greeting !== undefined) await client.query(server.greeting);
    },
  });
}

/** A connection to a server that is ready, past the pool and past a pooler. `limited`: its statements have the time limits of the pool's. */
export async function openClient(server: DatabaseServer, limited: boolean): Promise<pg.Client> {
  const client = new pg.Client({
    ...server.direct,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...KEEP_ALIVE,
  });
  // It may break before the caller can listen. The first statement then reports the error.
  client.on('error', () => undefined);
  await client.connect();
  if (limited) limitStatements(client, server);
  await client.query(server.directGreeting);
  return client;
}

/** Throws DatabaseError if the server does not accept connections. */
export async function serverReady(server: DatabaseServer): Promise<void> {
  try {
    await server.ready();
  } catch (error) {
    throw new DatabaseError('unavailable', error);
  }
}

/** A request that waits for a connection of another request. */
interface Waiter {
  readonly resolve: (client: pg.PoolClient) => void;
  readonly reject: (error: unknown) => void;
}

export interface ConnectionsOptions {
  readonly pool: pg.Pool;
  readonly server: DatabaseServer;
  /** Undefined for a supervised server: a refused connection waits for the restart of the server. */
  readonly watch: Pick<DatabaseWatch, 'broke'> | undefined;
  readonly log: Logger;
}

/** How long requests wait for open connections before one of them tries to open another connection again. */
const FULL_MS = 1_000;

/**
 * The usable connections of a pool. Connections from before an event that only holds for new connections are replaced.
 * While the server accepts no further connection, the pool stays smaller: requests wait for an open connection.
 */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #server: DatabaseServer;
  readonly #watch: ConnectionsOptions['watch'];
  readonly #full: OutageLog;
  #current = new WeakSet<pg.PoolClient>();
  #waiting: Waiter[] = [];
  #fullUntilMs = Number.NEGATIVE_INFINITY;
  /** Connections that are open, without attempts to connect, which the pool counts too. */
  #openCount = 0;

  constructor({ pool, server, watch, log }: ConnectionsOptions) {
    this.#pool = pool;
    this.#server = server;
    this.#watch = watch;
    this.#full = createOutageLog(
      log,
      'the database accepts no further connection: requests wait for the open ones',
      'the database accepts further connections again',
    );
    pool.on('connect', (client) => {
      // The pool replaces a broken connection; without an error listener, it would end the process.
      this.#current.add(client.on('error', () => undefined));
      this.#openCount += 1;
      this.#full.over();
    });
    pool.on('remove', () => {
      this.#openCount -= 1;
    });
  }

  /** True if a connection can be reused. The pool replaces a connection that is closing or broken. */
  #isGood(client: pg.PoolClient): boolean {
    const { stream } = client.connection;
    return this.#current.has(client) && stream instanceof Socket && stream.readyState === 'open';
  }

  /** Has every connection replaced before it is used again. */
  renew(): void {
    this.#current = new WeakSet();
  }

  /** @throws {DatabaseError} */
  async connect(): Promise<pg.PoolClient> {
    const isBusy = this.#openCount > 0 && this.#pool.idleCount === 0;
    if (isBusy && performance.now() < this.#fullUntilMs) return this.#wait();
    try {
      return await this.#next();
    } catch (error) {
      if (this.#watch === undefined) {
        // A restarting server refuses connections for a moment.
        await serverReady(this.#server);
        return this.#next().catch((again: unknown) => Promise.reject(toDatabaseError(again)));
      }
      if (this.#pool.idleCount > 0) return this.connect();
      // Of several attempts at once, the server may accept some.
      const mayOpen = isConnectionLimit(error) && this.#pool.totalCount > 0;
      if (this.#openCount > 0 || mayOpen) {
        this.#fullUntilMs = performance.now() + FULL_MS;
        this.#full.failed({ reason: messageOf(error), openCount: this.#openCount });
        return this.#wait();
      }
      this.#watch.broke(error);
      const reason = toDatabaseError(error);
      for (const { reject } of this.#waiting.splice(0)) reject(reason);
      throw reason;
    }
  }

  /**
   * Ends the use of a connection. A good connection goes to a request that waits here, or to `leave`, which gives the slot
   * of the request to another request and returns false if no request wants the connection.
   */
  giveBack(
    client: pg.PoolClient,
    error: Error | undefined,
    leave: (passedOn?: pg.PoolClient) => boolean,
  ): void {
    const isGood = error === undefined && this.#isGood(client);
    const waiter = this.#waiting.shift();
    if (isGood && waiter !== undefined) {
      waiter.resolve(client);
      leave();
      return;
    }
    if (isGood && leave(client)) return;
    client.release(error ?? !isGood);
    // Otherwise no other request may be left to pass a connection on.
    if (waiter !== undefined) this.connect().then(waiter.resolve, waiter.reject);
    if (!isGood) leave();
  }

  #wait(): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  async #next(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#current.has(client)) return client;
      client.release(true);
    }
  }
}
