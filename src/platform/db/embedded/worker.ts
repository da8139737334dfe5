/**
 * The worker thread of the embedded database: PGlite behind PostgreSQL's wire protocol on one socket, so that a slow
 * statement never stops the event loop of the service. It is started by server.ts only.
 */
import { chmodSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { EmbeddedAddress } from './address.ts';
import { openCluster } from './cluster.ts';
import { batchExtendedQueries, type MessageQueue } from './message-batches.ts';
import { requirePassword } from './password-gate.ts';

/** What server.ts hands over: the folder of the data, and the socket to listen on. */
export interface EmbeddedWorkerData {
  readonly folder: string;
  readonly address: { readonly path: string } | EmbeddedAddress;
}

const MAX_CONNECTIONS = 20;

async function serve(
  { folder, address }: EmbeddedWorkerData,
  port: NonNullable<typeof parentPort>,
): Promise<void> {
  const db = await openCluster(folder);
  const server = new PGLiteSocketServer({ db, ...address, maxConnections: MAX_CONNECTIONS });
  // The package keeps its queue to itself, and its version is pinned.
  const { queryQueue } = server as unknown as { queryQueue: MessageQueue };
  batchExtendedQueries(queryQueue);
  if ('password' in address && address.password !== undefined) requirePassword(queryQueue, address.password);
  await server.start();
  // Whatever the umask: the folder's modes keep others out, and so do the socket's own.
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
