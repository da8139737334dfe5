import pg from 'pg';
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
