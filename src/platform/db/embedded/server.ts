import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../../log.ts';
import {
  chooseAddress,
  discardAddress,
  type EmbeddedAddress,
  publishAddress,
  publishedAddress,
  withdrawAddress,
} from './address.ts';
import { checkContent, checkDiskSpace, securePrivateFolder } from './folder.ts';
import { UnusableFolderError } from './folder-error.ts';
import { isSameFolder } from './folder-identity.ts';
import { folderProblem } from './folder-watch.ts';
import { HoldMark, type Standing, watchHolds } from './held-time.ts';
import { type FolderLock, takeFolder } from './lock.ts';
import { isIncomplete, refuseOtherMajor, refuseRestoring } from './major-version.ts';
import type { Notification } from './notifications.ts';
import { type Supervisor, supervise } from './supervisor.ts';
import { EmbeddedStartError, startWorker } from './worker-thread.ts';

/** The embedded PostgreSQL of one folder: a worker thread that other processes can connect to. */
export interface EmbeddedServer extends Supervisor {
  readonly address: EmbeddedAddress;
  /** The application_name by which the service's connections are known. Others are outside connections. */
  readonly own: string;
  /** How long outside connections have had the database, in all. */
  heldMs(): number;
  /** Whether the worker, when it ended, was not busy with a statement of the service: none had begun. */
  neverBegan(): boolean;
  /**
   * Calls `listener` for each notification on `NOTIFIED_CHANNELS`, whichever connection sent it; without one after a
   * restart, which may have lost some. Returns a function that stops that.
   */
  notified(listener: (notification: Notification | undefined) => void): () => void;
}

/** The name of the data folder. */
const DATA = 'postgres';

export interface EmbeddedServerOptions {
  /** Whether to publish the address to other processes. A short-lived server must not attract clients. */
  readonly shared?: boolean;
  /** How long to wait for a folder that another process holds. */
  readonly patienceMs?: number;
  /** Whether to refuse a folder that is open to other users, instead of closing it to them. */
  readonly strict?: boolean;
  /** The name of the data folder in it. Another one than usual gets its name once it is complete. */
  readonly cluster?: string;
  /** Whether the caller has locked the folder, and keeps it locked. */
  readonly locked?: boolean;
}

/** Throws UnusableFolderError if a database that ran in the folder could not run there now. */
function refuseProblem(dataDir: string): void {
  const problem = folderProblem(dataDir);
  if (problem !== undefined) throw new UnusableFolderError(`${problem.reason}; ${problem.check}`);
}

const NO_LOCK: FolderLock = { release: () => undefined };

/** Removes the address of a killed server, with its socket and temporary folder. */
function clearAddress(dataDir: string): void {
  const left = publishedAddress(dataDir);
  withdrawAddress(dataDir);
  if (left !== undefined) discardAddress(left);
}

/**
 * Starts the embedded server on `dataDir`, which it locks and, if needed, creates. A worker that dies later
 * is restarted. Throws UnsafeFolderError, UnusableFolderError, OperatorError, FolderInUseError, EmbeddedStartError.
 */
export async function startEmbeddedServer(
  dataDir: string,
  log: Logger,
  {
    shared = true,
    patienceMs = 0,
    strict = false,
    cluster = DATA,
    locked = false,
  }: EmbeddedServerOptions = {},
): Promise<EmbeddedServer> {
  securePrivateFolder(dataDir, { strict });
  checkContent(dataDir);
  refuseOtherMajor(dataDir);
  if (cluster === DATA) refuseRestoring(dataDir);
  // PGlite would create an empty database where the files of one are lost.
  if (isIncomplete(dataDir))
    throw new EmbeddedStartError(dataDir, new Error('postgres/PG_VERSION is missing'));
  checkDiskSpace(dataDir);
  const lock = locked ? NO_LOCK : await takeFolder(dataDir, patienceMs, log);
  try {
    // A restore may have begun while this waited.
    if (cluster === DATA) refuseRestoring(dataDir);
    clearAddress(dataDir);
    const address = await chooseAddress(dataDir);
    const listeners = new Set<(notification: Notification | undefined) => void>();
    const tell = (notification: Notification | undefined) => {
      for (const listener of listeners) listener(notification);
    };
    const own = `content-graph-api ${randomUUID()}`;
    const mark = new HoldMark();
    /** Who had the backend when the worker ended. */
    let lastStanding: Standing | undefined;
    const holds = watchHolds(mark, ({ totalMs }) => {
      supervisor
        .restart(`an outside connection had the database for more than ${totalMs / 1_000} s`)
        // The supervisor has logged it, and retries.
        .catch((error: unknown) => log.debug({ err: error }, 'the embedded database did not restart'));
    });
    const shares = { cluster: join(dataDir, cluster), address, log, own, mark, holds, tell };
    let startedBefore = false;
    const start = async () => {
      // After a failed try, the mark names nobody: keep who had it before.
      lastStanding = mark.read().standing ?? lastStanding;
      mark.end();
      // PGlite would not say what is wrong, and create an empty database where the data has gone.
      if (startedBefore) refuseProblem(dataDir);
      const running = await startWorker(dataDir, shares);
      startedBefore = true;
      return running;
    };
    const supervisor = await supervise({ start, log }).catch((error: unknown) => {
      discardAddress(address);
      throw error;
    });
    if (shared) publishAddress(dataDir, address);
    return {
      ...supervisor,
      address,
      own,
      heldMs: holds.heldMs,
      // Connections may be lost before the worker is known to have ended: the mark has not changed until then.
      neverBegan: () => (mark.read().standing ?? lastStanding) !== 'service',
      notified(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      async close() {
        if (isSameFolder(dataDir, address.folder)) withdrawAddress(dataDir);
        holds.close();
        try {
          await supervisor.close();
          discardAddress(address);
        } finally {
          lock.release();
        }
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}
