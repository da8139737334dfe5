import { dirname } from 'node:path';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openCluster } from './cluster.ts';
import { findDataDirProblem } from './data-dir.ts';
import { createBackend } from './protocol.ts';

/**
 * The worker thread of the embedded database, which speaks PostgreSQL's protocol on message ports: a slow statement does not
 * block the service's event loop, and no other process can connect. Started only by worker-thread.ts.
 */

/** The directory with the data of PostgreSQL. */
export interface EmbeddedWorkerData {
  readonly clusterDir: string;
}

/** A request of the service's thread: a new connection, or the end. */
export type WorkerRequest = { readonly port: MessagePort } | 'close';

/** What the worker tells the service's thread. */
export type WorkerMessage = { readonly kind: 'ready' } | { readonly kind: 'failed'; readonly reason: string };

const CHECKPOINT_LOOK_MS = 10_000;

async function serve(
  { clusterDir }: EmbeddedWorkerData,
  service: NonNullable<typeof parentPort>,
): Promise<void> {
  const post = (message: WorkerMessage) => service.postMessage(message);
  const db = await openCluster(clusterDir);
  const backend = createBackend(db, (reason) => {
    post({ kind: 'failed', reason });
    process.exit(1);
  });
  service.on('message', (request: WorkerRequest) => {
    if (request !== 'close') backend.accept(request.port);
    else
      void backend
        .settled()
        .then(() => db.close())
        .then(() => process.exit());
  });
  setInterval(() => {
    // A checkpoint that fails for want of room leaves PGlite unable to go on.
    if (findDataDirProblem(dirname(clusterDir)) === undefined) backend.checkpoint();
  }, CHECKPOINT_LOOK_MS).unref();
  post({ kind: 'ready' });
}

if (parentPort !== null) await serve(workerData as EmbeddedWorkerData, parentPort);
