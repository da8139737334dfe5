import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import {
  chooseAddress,
  discardAddress,
  type EmbeddedAddress,
  publishAddress,
  publishedAddress,
  socketPath,
  withdrawAddress,
} from './address.ts';
import { securePrivateFolder } from './folder.ts';
import { takeFolder } from './lock.ts';
import { type Running, type Supervisor, supervise } from './supervisor.ts';
import type { EmbeddedWorkerData } from './worker.ts';

/** The folder's data cannot be opened. `cause` is what PostgreSQL or the operating system says. */
export class EmbeddedStartError extends Error {
  constructor(dataDir: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : 'it ended without a word';
    super(
      `The embedded database in "${dataDir}" does not start: ${why}. Restore the folder from a copy, or set DATA_DIR to another one.`,
      { cause },
    );
    this.name = 'EmbeddedStartError';
  }
}

/** The embedded PostgreSQL of one folder: a worker thread that other processes can connect to as well. */
export interface EmbeddedServer extends Supervisor {
  readonly address: EmbeddedAddress;
}

export interface EmbeddedServerOptions {
  /** Whether other processes may connect. One that holds the folder for a moment only must not draw them in. */
  readonly shared?: boolean;
  /** How long a folder that somebody else holds is waited for. */
  readonly patienceMs?: number;
  /** Whether a folder that is open to other users is refused; otherwise it is closed to them. */
  readonly strict?: boolean;
}

function startWorker(dataDir: string, address: EmbeddedAddress, log: Logger): Promise<Running> {
  const path = socketPath(address);
  if (path !== undefined) rmSync(path, { force: true });
  const data: EmbeddedWorkerData = {
    folder: join(dataDir, 'postgres'),
    address: path === undefined ? address : { path },
  };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  return new Promise((resolve, reject) => {
    let listening = false;
    let failure: unknown;
    worker.once('message', () => {
      listening = true;
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

/** What a killed server has left behind names a socket that is about to be another's, or a folder that nobody needs. */
function clearAddress(dataDir: string): void {
  const left = publishedAddress(dataDir);
  withdrawAddress(dataDir);
  if (left !== undefined) discardAddress(dataDir, left);
}

/**
 * Starts the embedded server on `dataDir`, which it locks and creates if need be. Throws UnsafeFolderError,
 * FolderInUseError, EmbeddedStartError. A worker that dies later is started again.
 */
export async function startEmbeddedServer(
  dataDir: string,
  log: Logger,
  { shared = true, patienceMs = 0, strict = false }: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  securePrivateFolder(dataDir, { strict });
  const lock = await takeFolder(dataDir, patienceMs, log);
  try {
    clearAddress(dataDir);
    const address = await chooseAddress(dataDir);
    const supervisor = await supervise({ start: () => startWorker(dataDir, address, log), log });
    if (shared) publishAddress(dataDir, address);
    return {
      ...supervisor,
      address,
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
