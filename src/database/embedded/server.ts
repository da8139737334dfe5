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

const DATA = 'postgres';

/** @throws {UnusableDataDirError} */
function rejectUnhealthy(dataDir: string): void {
  const problem = findDataDirProblem(dataDir);
  if (problem !== undefined) throw new UnusableDataDirError(`${problem.reason}; ${problem.hint}`);
}

const restarting = () => Object.assign(new Error('the embedded database restarts'), { code: 'ECONNREFUSED' });

/**
 * Starts the embedded PostgreSQL of `dataDir` in a worker thread, which is restarted when it dies.
 * @param patienceMs the wait for a data directory that another process has locked.
 * @param strict rejects a data directory that is open to other users, instead of closing it to them.
 * @throws {UnsafeDataDirError}
 * @throws {UnusableDataDirError}
 * @throws {OperatorError}
 * @throws {DataDirInUseError}
 * @throws {EmbeddedStartError}
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
  // PGlite would create an empty database in place of lost files.
  if (isIncomplete(dataDir))
    throw new EmbeddedStartError(dataDir, new Error('postgres/PG_VERSION is missing'));
  checkDiskSpace(dataDir);
  const lock = await acquireDataDirLock(dataDir, patienceMs, log);
  try {
    // A restore may have begun during the wait for the lock.
    requireFinished(dataDir);
    let running: RunningWorker | undefined;
    let startedBefore = false;
    const start = async () => {
      // PGlite would not explain the problem, and would create an empty database in place of missing data.
      if (startedBefore) rejectUnhealthy(dataDir);
      // The path is absolute, because other code may change the working directory of the process.
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
