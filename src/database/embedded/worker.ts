import { dirname } from 'node:path';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openCluster } from './cluster.ts';
import { findDataDirProblem } from './data-dir.ts';
import { createBackend } from './protocol.ts';

/**
 * In a worker thread, a slow statement does not block the event loop of the service, and no other process can
 * connect. Only worker-thread.ts starts this file.
 */

export interface EmbeddedWorkerData {
  readonly clusterDir: string;
}

export type WorkerRequest = { readonly port: MessagePort } | 'close';

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
    // A checkpoint that fails because the disk is full makes PGlite unusable.
    if (findDataDirProblem(dirname(clusterDir)) === undefined) backend.checkpoint();
  }, CHECKPOINT_LOOK_MS).unref();
  post({ kind: 'ready' });
}

if (parentPort !== null) await serve(workerData as EmbeddedWorkerData, parentPort);
