import { Socket } from 'node:net';
import pg from 'pg';
import { DatabaseError, toDatabaseError } from './errors.ts';
import { limitStatements } from './limited-client.ts';
import type { DatabaseServer } from './server.ts';

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

/** The connections of a pool that may be used: not those from before something that holds for new ones only. */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #server: DatabaseServer;
  readonly #onFailure: ((error: unknown) => void) | undefined;
  #current = new WeakSet<pg.PoolClient>();

  /** Without `onFailure`, the server is supervised: a refused connection waits for its restart. */
  constructor(pool: pg.Pool, server: DatabaseServer, onFailure: ((error: unknown) => void) | undefined) {
    this.#pool = pool;
    this.#server = server;
    this.#onFailure = onFailure;
    // The pool replaces a broken connection; without an error listener, it would end the process.
    pool.on('connect', (client) => this.#current.add(client.on('error', () => undefined)));
  }

  /** Whether a connection can be reused. The pool replaces one that is closing or broken. */
  isGood(client: pg.PoolClient): boolean {
    const { stream } = client.connection;
    return this.#current.has(client) && stream instanceof Socket && stream.readyState === 'open';
  }

  /** Has every connection replaced before it is used again. */
  renew(): void {
    this.#current = new WeakSet();
  }

  /** Throws DatabaseError. */
  async connect(): Promise<pg.PoolClient> {
    try {
      return await this.#next();
    } catch (error) {
      // A restarting server refuses connections for a moment.
      if (this.#onFailure !== undefined) {
        this.#onFailure(error);
        throw toDatabaseError(error);
      }
      await serverReady(this.#server);
      return this.#next().catch((again: unknown) => Promise.reject(toDatabaseError(again)));
    }
  }

  async #next(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#current.has(client)) return client;
      client.release(true);
    }
  }
}
