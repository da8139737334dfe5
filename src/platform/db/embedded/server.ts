import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from '../../log.ts';
import {
  chooseAddress,
  type EmbeddedAddress,
  publishAddress,
  socketPath,
  withdrawAddress,
} from './address.ts';
import { lockFolder } from './lock.ts';
import type { EmbeddedWorkerData } from './worker.ts';

/** The embedded PostgreSQL of one folder: a worker thread that other processes can connect to as well. */
export interface EmbeddedServer {
  readonly address: EmbeddedAddress;
  /** Resolves once the server takes connections, also after a restart. */
  ready(): Promise<void>;
  /** Ends the worker in the middle of whatever it does and starts another; uncommitted work is gone. */
  restart(reason: string): Promise<void>;
  close(): Promise<void>;
}

export interface EmbeddedServerOptions {
  /** Whether other processes may connect. One that holds the folder for a moment only must not draw them in. */
  readonly shared?: boolean;
}

/**
 * Starts the embedded server on `dataDir`, which it locks and creates if need be.
 * Throws FolderInUseError. A worker that dies by itself is started again.
 */
export async function startEmbeddedServer(
  dataDir: string,
  log: Logger,
  { shared = true }: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  const lock = lockFolder(dataDir);
  // What a killed server has left behind names a socket that is about to be another's.
  withdrawAddress(dataDir);
  const address = await chooseAddress(dataDir);
  const path = socketPath(address);
  let closing = false;
  let worker: Worker | undefined;
  let starting: Promise<void> | undefined;

  function start(): Promise<void> {
    if (path !== undefined) rmSync(path, { force: true });
    const data: EmbeddedWorkerData = {
      folder: join(dataDir, 'postgres'),
      address: path === undefined ? address : { path },
    };
    const started = new Worker(new URL('./worker.ts', import.meta.url), { workerData: data });
    worker = started;
    return new Promise<void>((resolve, reject) => {
      started.once('message', () => resolve());
      started.once('error', (error) => {
        log.error({ err: error }, 'the embedded database failed');
        reject(error);
      });
      started.once('exit', () => {
        reject(new Error('the embedded database ended while it started'));
        if (closing || worker !== started) return;
        log.warn('the embedded database ended; starting it again');
        void renew();
      });
    });
  }

  /** Starts a worker once `ended` has resolved; whoever asks for `ready` meanwhile waits for it. */
  function renew(ended?: Promise<unknown>): Promise<void> {
    starting = ended === undefined ? start() : ended.then(start);
    // Whoever needs the database awaits `ready` and gets the error there.
    starting.catch(() => undefined);
    return starting;
  }

  try {
    await renew();
    if (shared) publishAddress(dataDir, address);
  } catch (error) {
    closing = true;
    lock.release();
    throw error;
  }

  return {
    address,
    ready: () => starting ?? Promise.reject(new Error('the embedded database is not running')),
    async restart(reason) {
      // It is on its way already: two workers must never be on one folder.
      if (worker === undefined) return starting;
      log.warn({ reason }, 'restarting the embedded database');
      const old = worker;
      worker = undefined;
      await renew(old.terminate());
    },
    async close() {
      closing = true;
      withdrawAddress(dataDir);
      // One that is about to start would otherwise be on the folder after its lock is gone.
      await starting?.catch(() => undefined);
      const last = worker;
      if (last !== undefined) {
        const ended = new Promise((resolve) => last.once('exit', resolve));
        last.postMessage('close');
        await ended;
      }
      lock.release();
    },
  };
}
