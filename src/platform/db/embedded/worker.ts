/**
 * The worker thread of the embedded database: PGlite speaks PostgreSQL's wire protocol on a socket, so a slow
 * statement never blocks the service's event loop. Started only by server.ts.
 */
import { chmodSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { EmbeddedAddress } from './address.ts';
import { openCluster } from './cluster.ts';
import { batchExtendedQueries, type MessageQueue } from './message-batches.ts';
import { tellNotifications } from './notifications.ts';
import { requirePassword } from './password-gate.ts';

/** The data folder and the socket to listen on. */
export interface EmbeddedWorkerData {
  readonly folder: string;
  readonly address: { readonly path: string } | EmbeddedAddress;
  /** The channels on which to listen for all connections. */
  readonly channels: readonly string[];
}

const MAX_CONNECTIONS = 20;

async function serve(
  { folder, address, channels }: EmbeddedWorkerData,
  port: NonNullable<typeof parentPort>,
): Promise<void> {
  const db = await openCluster(folder);
  const server = new PGLiteSocketServer({ db, ...address, maxConnections: MAX_CONNECTIONS });
  // The queue is private to the package. The package's version is pinned.
  const { queryQueue } = server as unknown as { queryQueue: MessageQueue };
  await tellNotifications(db, queryQueue, channels, (notification) => port.postMessage(notification));
  batchExtendedQueries(queryQueue);
  if ('password' in address && address.password !== undefined) requirePassword(queryQueue, address.password);
  await server.start();
  // Independent of the umask: the socket's own mode keeps others out, as the folder's does.
  if ('path' in address) chmodSync(address.path, 0o600);
  port.on('message', (message: unknown) => {
    if (message !== 'close') return;
    void server
      .stop()
      .then(() => db.close())
      .then(() => port.close());
  });
  port.postMessage('listening');
}

if (parentPort !== null) await serve(workerData as EmbeddedWorkerData, parentPort);
