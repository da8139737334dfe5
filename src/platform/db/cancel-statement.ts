import { connect } from 'node:net';
import type { ClientBase } from 'pg';

/** PostgreSQL protocol, "CancelRequest": length, code, backend process id, secret key. */
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
 * Asks the server to cancel the statement that a connection runs. Uses a separate connection, because the
 * pool may be exhausted by exactly these statements. Like libpq, waits until the server has handled the
 * request and closed the connection: PgBouncer drops the request if the client disconnects first.
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
