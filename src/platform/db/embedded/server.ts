import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import { OperatorError, onOneLine } from '../../operator-error.ts';
import { CREDENTIALS_CHANNEL } from '../channels.ts';
import {
  chooseAddress,
  discardAddress,
  type EmbeddedAddress,
  publishAddress,
  publishedAddress,
  socketPath,
  withdrawAddress,
} from './address.ts';
import { checkDiskSpace, securePrivateFolder } from './folder.ts';
import { UnusableFolderError } from './folder-error.ts';
import { folderProblem } from './folder-watch.ts';
import { takeFolder } from './lock.ts';
import { isIncomplete, refuseOtherMajor } from './major-version.ts';
import type { Notification } from './notifications.ts';
import { type Running, type Supervisor, supervise } from './supervisor.ts';
import type { EmbeddedWorkerData } from './worker.ts';

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

/** The embedded PostgreSQL of one folder: a worker thread that other processes can connect to. */
export interface EmbeddedServer extends Supervisor {
  readonly address: EmbeddedAddress;
  /**
   * Calls `listener` for each notification on `NOTIFIED_CHANNELS`, whichever connection sent it; without one after a
   * restart, which may have lost some. Returns a function that stops that.
   */
  notified(listener: (notification: Notification | undefined) => void): () => void;
}

/** The channels that other processes notify, too. */
const NOTIFIED_CHANNELS = [CREDENTIALS_CHANNEL];

export interface EmbeddedServerOptions {
  /** Whether to publish the address to other processes. A short-lived server must not attract clients. */
  readonly shared?: boolean;
  /** How long to wait for a folder that another process holds. */
  readonly patienceMs?: number;
  /** Whether to refuse a folder that is open to other users, instead of closing it to them. */
  readonly strict?: boolean;
}

function startWorker(
  dataDir: string,
  address: EmbeddedAddress,
  log: Logger,
  tell: (notification: Notification | undefined) => void,
): Promise<Running> {
  const path = socketPath(address);
  if (path !== undefined) rmSync(path, { force: true });
  const data: EmbeddedWorkerData = {
    folder: join(dataDir, 'postgres'),
    address: path === undefined ? address : { path },
    channels: NOTIFIED_CHANNELS,
  };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let listening = false;
    let failure: unknown;
    worker.on('message', (message: 'listening' | Notification | object) => {
      // Under `node --watch`, Node sends messages of its own this way.
      if (message !== 'listening') return 'channel' in message ? tell(message) : undefined;
      listening = true;
      tell(undefined);
      resolve({
        ended,
        terminate: () => worker.terminate(),
        async close() {
          worker.postMessage('close');
          await ended;
        },
      });
    });
    worker.on('error', (error) => {
      failure = error;
      if (listening) log.error({ err: error }, 'the embedded database failed');
    });
    void ended.then(() => reject(new EmbeddedStartError(dataDir, failure)));
  });
}

/** Throws UnusableFolderError if a database that ran in the folder could not run there now. */
function refuseProblem(dataDir: string): void {
  const problem = folderProblem(dataDir);
  if (problem !== undefined) throw new UnusableFolderError(`${problem.reason}; ${problem.check}`);
}

/** Removes the address of a killed server, with its socket and temporary folder. */
function clearAddress(dataDir: string): void {
  const left = publishedAddress(dataDir);
  withdrawAddress(dataDir);
  if (left !== undefined) discardAddress(dataDir, left);
}

/**
 * Starts the embedded server on `dataDir`, which it locks and, if needed, creates. A worker that dies later
 * is restarted. Throws UnsafeFolderError, UnusableFolderError, OperatorError, FolderInUseError, EmbeddedStartError.
 */
export async function startEmbeddedServer(
  dataDir: string,
  log: Logger,
  { shared = true, patienceMs = 0, strict = false }: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  securePrivateFolder(dataDir, { strict });
  refuseOtherMajor(dataDir);
  // PGlite would create an empty database where the files of one are lost.
  if (isIncomplete(dataDir))
    throw new EmbeddedStartError(dataDir, new Error('postgres/PG_VERSION is missing'));
  checkDiskSpace(dataDir);
  const lock = await takeFolder(dataDir, patienceMs, log);
  try {
    clearAddress(dataDir);
    const address = await chooseAddress(dataDir);
    const listeners = new Set<(notification: Notification | undefined) => void>();
    const tell = (notification: Notification | undefined) => {
      for (const listener of listeners) listener(notification);
    };
    let startedBefore = false;
    const start = async () => {
      // PGlite would not say what is wrong, and create an empty database where the data has gone.
      if (startedBefore) refuseProblem(dataDir);
      const running = await startWorker(dataDir, address, log, tell);
      startedBefore = true;
      return running;
    };
    const supervisor = await supervise({ start, log });
    if (shared) publishAddress(dataDir, address);
    return {
      ...supervisor,
      address,
      notified(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      async close() {
        withdrawAddress(dataDir);
        await supervisor.close();
        discardAddress(dataDir, address);
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
