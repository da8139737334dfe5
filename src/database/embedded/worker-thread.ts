import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { OperatorError, onOneLine } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { toDataDirError } from './data-dir.ts';
import type { Running } from './supervisor.ts';
import type { EmbeddedWorkerData, WorkerMessage, WorkerRequest } from './worker.ts';

/** `cause` is the error of PGlite or of the operating system. */
export class EmbeddedStartError extends OperatorError {
  constructor(dataDir: string, cause: unknown) {
    const why =
      cause instanceof Error
        ? onOneLine(cause.message).replace(/\.$/, '')
        : 'it ended without an error message';
    super(
      `The embedded database in "${dataDir}" does not start: ${why}. Its files are damaged or incomplete. Restore a backup into a new directory, and set DATA_DIR to the new directory.`,
      { cause },
    );
  }
}

/** An error of the operating system does not mean damaged data, unless a file of the data is missing. */
function startError(dataDir: string, failure: unknown): OperatorError {
  const { syscall, code } = failure instanceof Error ? (failure as NodeJS.ErrnoException) : {};
  return syscall === undefined || code === 'ENOENT'
    ? new EmbeddedStartError(dataDir, failure)
    : toDataDirError(dataDir, failure);
}

export interface RunningWorker extends Running {
  /** The port closes when the worker exits. */
  open(): MessagePort;
}

/**
 * @throws {EmbeddedStartError}
 * @throws {UnusableDataDirError}
 */
export function startWorker(dataDir: string, clusterDir: string, log: Logger): Promise<RunningWorker> {
  const data: EmbeddedWorkerData = { clusterDir };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data });
  const request = (message: WorkerRequest, ports: MessagePort[] = []) => worker.postMessage(message, ports);
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let isReady = false;
    let failure: unknown;
    const { promise: ending, resolve: ends } = Promise.withResolvers<void>();
    void ended.then(ends);
    const fail = (error: unknown) => {
      failure = error;
      ends();
      if (isReady) log.emit('embedded_db.crashed', { err: error });
    };
    // Under `node --watch`, Node also sends messages on this channel.
    worker.on('message', (message: WorkerMessage | { readonly kind?: undefined }) => {
      if (message.kind === 'failed') fail(new Error(`the backend has ended: ${message.reason}`));
      if (message.kind !== 'ready') return;
      isReady = true;
      resolve({
        ending,
        ended,
        open() {
          const { port1, port2 } = new MessageChannel();
          request({ port: port2 }, [port2]);
          return port1;
        },
        terminate: () => worker.terminate(),
        async close() {
          request('close');
          await ended;
        },
      });
    });
    worker.on('error', fail);
    void ended.then(() => reject(startError(dataDir, failure)));
  });
}
