/**
 * The worker thread of the embedded database: PGlite behind PostgreSQL's wire protocol on one socket, so that a slow
 * statement never stops the event loop of the service. It is started by server.ts only.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { batchExtendedQueries, type MessageQueue } from './message-batches.ts';

/** What server.ts hands over: the folder of the data, and the socket to listen on. */
export interface EmbeddedWorkerData {
  readonly folder: string;
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number };
}

const MAX_CONNECTIONS = 20;

async function serve(
  { folder, address }: EmbeddedWorkerData,
  port: NonNullable<typeof parentPort>,
): Promise<void> {
  const db = await PGlite.create(folder);
  const server = new PGLiteSocketServer({ db, ...address, maxConnections: MAX_CONNECTIONS });
  // The package keeps its queue to itself, and its version is pinned.
  batchExtendedQueries((server as unknown as { queryQueue: MessageQueue }).queryQueue);
  await server.start();
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
