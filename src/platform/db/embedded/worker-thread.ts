import { rmSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import { OperatorError, onOneLine } from '../../operator-error.ts';
import { CREDENTIALS_CHANNEL, DOCUMENTS_CHANNEL, RESTRICTIONS_CHANNEL } from '../channels.ts';
import { type EmbeddedAddress, socketPath } from './address.ts';
import { folderError } from './folder-error.ts';
import type { HoldMark, HoldWatch } from './held-time.ts';
import type { Notification } from './notifications.ts';
import type { Running } from './supervisor.ts';
import type { EmbeddedWorkerData, WorkerMessage } from './worker.ts';

/** The folder's data cannot be opened. `cause` is the error of PGlite or the operating system. */
export class EmbeddedStartError extends OperatorError {
  constructor(dataDir: string, cause: unknown) {
    const why =
      cause instanceof Error
        ? onOneLine(cause.message).replace(/\.$/, '')
        : 'it ended without an error message';
    super(
      `The embedded database in "${dataDir}" does not start: ${why}. Its files are damaged or incomplete: restore the folder from a backup, or set DATA_DIR to another one.`,
      { cause },
    );
  }
}

/** What the operating system refuses is no fault of the data, unless a file of them is missing. */
function startError(dataDir: string, failure: unknown): OperatorError {
  const { syscall, code } = failure instanceof Error ? (failure as NodeJS.ErrnoException) : {};
  return syscall === undefined || code === 'ENOENT'
    ? new EmbeddedStartError(dataDir, failure)
    : folderError(dataDir, failure);
}

/** The channels that other processes notify, too. */
const NOTIFIED_CHANNELS = [CREDENTIALS_CHANNEL, DOCUMENTS_CHANNEL, RESTRICTIONS_CHANNEL];

/** What a worker and the service's thread share. */
export interface Shared {
  /** The path of the data folder. */
  readonly cluster: string;
  readonly address: EmbeddedAddress;
  readonly log: Logger;
  readonly own: string;
  readonly mark: HoldMark;
  readonly holds: Pick<HoldWatch, 'guests'>;
  tell(notification: Notification | undefined): void;
}

/** Starts the worker thread of the embedded database. Rejects with EmbeddedStartError, UnusableFolderError. */
export function startWorker(dataDir: string, shared: Shared): Promise<Running> {
  const { cluster, address, log, own, mark, holds, tell } = shared;
  const path = socketPath(address);
  if (path !== undefined) rmSync(path, { force: true });
  holds.guests(0);
  const data: EmbeddedWorkerData = {
    folder: cluster,
    address: path === undefined ? address : { path },
    channels: NOTIFIED_CHANNELS,
    own,
    mark: mark.buffer,
  };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let listening = false;
    let failure: unknown;
    const { promise: ending, resolve: ends } = Promise.withResolvers<void>();
    void ended.then(ends);
    const fail = (error: unknown) => {
      failure = error;
      ends();
      if (listening) log.error({ err: error }, 'the embedded database failed');
    };
    // Under `node --watch`, Node sends messages of its own this way.
    worker.on('message', (message: WorkerMessage | { readonly kind?: undefined }) => {
      if (message.kind === 'notification') tell(message.notification);
      if (message.kind === 'failed') fail(new Error(`the backend has ended: ${message.reason}`));
      if (message.kind === 'guests') holds.guests(message.count);
      if (message.kind === 'line') log.warn(message.fields, message.message);
      if (message.kind !== 'listening') return;
      listening = true;
      tell(undefined);
      resolve({
        ending,
        ended,
        terminate: () => worker.terminate(),
        async close() {
          worker.postMessage('close');
          await ended;
        },
      });
    });
    worker.on('error', fail);
    void ended.then(() => reject(startError(dataDir, failure)));
  });
}
