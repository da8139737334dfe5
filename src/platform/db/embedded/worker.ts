/**
 * The worker thread of the embedded database: PGlite speaks PostgreSQL's wire protocol on a socket, so a slow
 * statement never blocks the service's event loop. Started only by server.ts.
 */
import { chmodSync } from 'node:fs';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import type { EmbeddedAddress } from './address.ts';
import { createBackend } from './backend.ts';
import { openCluster } from './cluster.ts';
import { folderProblem } from './folder-watch.ts';
import { HoldMark } from './held-time.ts';
import { type Notification, notificationFinder } from './notifications.ts';
import { requirePassword } from './password-gate.ts';
import { SharedBackend } from './shared-backend.ts';

/** The data folder and the socket to listen on. */
export interface EmbeddedWorkerData {
  readonly folder: string;
  readonly address: { readonly path: string } | EmbeddedAddress;
  /** The channels on which to listen for all connections. */
  readonly channels: readonly string[];
  /** The application_name of the service's own connections. */
  readonly own: string;
  /** Of a HoldMark. */
  readonly mark: SharedArrayBuffer;
}

/** What the worker tells the service's thread. */
export type WorkerMessage =
  | { readonly kind: 'listening' }
  /** Undefined where some may have been missed. */
  | { readonly kind: 'notification'; readonly notification: Notification | undefined }
  | { readonly kind: 'guests'; readonly count: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'line'; readonly message: string; readonly fields: Readonly<Record<string, unknown>> };

const CHECKPOINT_LOOK_MS = 10_000;
/** Guests have fewer places. */
const MAX_CONNECTIONS = 100;

/** What is private to the socket server. The package's version is pinned. */
interface Inside {
  queryQueue: SharedBackend;
  readonly handlers: Set<{ readonly handlerId: number; detach(close: boolean): Promise<unknown> }>;
}

async function serve(
  { folder, address, channels, own, mark }: EmbeddedWorkerData,
  port: NonNullable<typeof parentPort>,
): Promise<void> {
  const post = (message: WorkerMessage) => port.postMessage(message);
  const db = await openCluster(folder);
  for (const channel of channels) await db.exec(`LISTEN ${channel}`);
  const server = new PGLiteSocketServer({ db, ...address, maxConnections: MAX_CONNECTIONS });
  const inside = server as unknown as Inside;
  const backend = new SharedBackend({
    backend: createBackend(
      db,
      notificationFinder(channels, (notification) => post({ kind: 'notification', notification })),
      (reason) => {
        post({ kind: 'failed', reason });
        process.exit(1);
      },
    ),
    mark: new HoldMark(mark),
    own,
    channels,
    disconnect(id) {
      for (const handler of inside.handlers) {
        if (handler.handlerId !== id) continue;
        // It would go on taking one of the places.
        inside.handlers.delete(handler);
        void handler.detach(true);
      }
    },
    missed: () => post({ kind: 'notification', notification: undefined }),
    tell: (message, fields) => post({ kind: 'line', message, fields }),
    guests: (count) => post({ kind: 'guests', count }),
    // Ends the worker, which is started again.
    broken(error) {
      setImmediate(() => {
        throw error;
      });
    },
  });
  inside.queryQueue = backend;
  if ('password' in address && address.password !== undefined) requirePassword(backend, address.password);
  await server.start();
  // Independent of the umask: the socket's own mode keeps others out, as the folder's does.
  if ('path' in address) chmodSync(address.path, 0o600);
  port.on('message', (message: unknown) => {
    if (message !== 'close') return;
    void server
      .stop()
      .then(() => backend.settled())
      .then(() => db.close())
      .then(() => port.close());
  });
  setInterval(() => {
    // One that fails for want of room leaves PGlite unable to go on.
    if (folderProblem(dirname(folder)) === undefined) void backend.checkpoint();
  }, CHECKPOINT_LOOK_MS).unref();
  post({ kind: 'listening' });
}

if (parentPort !== null) await serve(workerData as EmbeddedWorkerData, parentPort);
