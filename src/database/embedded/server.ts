import { resolve } from 'node:path';
import type { Logger } from '../../platform/log/log.ts';
import {
  checkContent,
  checkDiskSpace,
  findDataDirProblem,
  securePrivateDataDir,
  UnusableDataDirError,
} from './data-dir.ts';
import { acquireDataDirLock } from './data-dir-lock.ts';
import { isIncomplete, requireFinished, requireSameMajor } from './major-version.ts';
import { supervise } from './supervisor.ts';
import { WorkerStream } from './worker-stream.ts';
import { EmbeddedStartError, type RunningWorker, startWorker } from './worker-thread.ts';

/** The directory in DATA_DIR with the data of PostgreSQL. */
const DATA = 'postgres';

/** Throws UnusableDataDirError if a database that ran in the data directory could not run there now. */
function rejectUnhealthy(dataDir: string): void {
  const problem = findDataDirProblem(dataDir);
  if (problem !== undefined) throw new UnusableDataDirError(`${problem.reason}; ${problem.hint}`);
}

/** The error of a connection that is opened while the worker restarts. */
const restarting = () => Object.assign(new Error('the embedded database restarts'), { code: 'ECONNREFUSED' });

/**
 * Starts the embedded PostgreSQL of `dataDir`, a worker thread of this process, which it locks and, if needed, creates. A worker that dies later
 * is restarted. Waits up to `patienceMs` for a data directory that another process holds. A data directory that is open to other users is
 * closed to them or, if `strict`, rejected. Throws UnsafeDataDirError, UnusableDataDirError, OperatorError, DataDirInUseError, EmbeddedStartError.
 */
export async function startEmbeddedServer(
  dataDir: string,
  log: Logger,
  { patienceMs = 0, strict = false } = {},
) {
  securePrivateDataDir(dataDir, { strict });
  checkContent(dataDir);
  requireSameMajor(dataDir);
  requireFinished(dataDir);
  // PGlite would create an empty database where the files of one are lost.
  if (isIncomplete(dataDir))
    throw new EmbeddedStartError(dataDir, new Error('postgres/PG_VERSION is missing'));
  checkDiskSpace(dataDir);
  const lock = await acquireDataDirLock(dataDir, patienceMs, log);
  try {
    // A restore may have begun while this waited.
    requireFinished(dataDir);
    let running: RunningWorker | undefined;
    let startedBefore = false;
    const start = async () => {
      // PGlite would not say what is wrong, and create an empty database where the data has gone.
      if (startedBefore) rejectUnhealthy(dataDir);
      // Absolute, because the working directory belongs to the whole process.
      const started = await startWorker(dataDir, resolve(dataDir, DATA), log);
      startedBefore = true;
      running = started;
      void started.ending.then(() => {
        if (running === started) running = undefined;
      });
      return started;
    };
    const supervisor = await supervise({ start, log });
    return {
      ...supervisor,
      /** A new connection for `pg`, which calls its `connect`. */
      createStream: () =>
        new WorkerStream(() => {
          if (running === undefined) throw restarting();
          return running.open();
        }),
      async close() {
        try {
          await supervisor.close();
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
