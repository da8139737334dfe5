import { connect } from 'node:net';
import type { ClientBase } from 'pg';

/** PostgreSQL's protocol, "CancelRequest": its length, its code, then the backend's number and secret. */
const LENGTH = 16;
const CODE = 80_877_102;
const TIMEOUT_MS = 5_000;

interface BackendKey {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly host?: string;
  readonly port?: number;
}

/**
 * Asks the server to cancel what it runs for a connection, over a connection of its own: the pool may be empty just
 * because everybody waits for such statements. Resolves once the server has seen to it and closed that connection, as
 * libpq waits for it. Nothing is closed from here before: PgBouncer drops the request of a client that has gone.
 */
export async function cancelStatement(client: ClientBase): Promise<void> {
  const { processID, secretKey, host = 'localhost', port = 5432 } = client as unknown as BackendKey;
  if (processID == null || secretKey == null) return;
  const message = Buffer.alloc(LENGTH);
  message.writeInt32BE(LENGTH, 0);
  message.writeInt32BE(CODE, 4);
  message.writeInt32BE(processID, 8);
  message.writeInt32BE(secretKey, 12);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => socket.destroy());
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.resume().write(message);
  await closed;
}
