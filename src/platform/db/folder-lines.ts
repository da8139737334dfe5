import type { Logger } from '../log.ts';
import { createOutageLog } from '../outage-log.ts';
import { folderProblem } from './embedded/folder-watch.ts';

const INTERVAL_MS = 10_000;

/** Says in the log, while the embedded database runs, what is wrong with its folder: before a write fails of it. */
export function watchFolder(dataDir: string, log: Logger): { close(): void } {
  const outage = createOutageLog(
    log,
    'the folder of the embedded database needs attention',
    'the folder of the embedded database is in order again',
  );
  const timer = setInterval(() => {
    const problem = folderProblem(dataDir);
    if (problem === undefined) outage.over();
    else outage.failed({ ...problem });
  }, INTERVAL_MS).unref();
  return { close: () => clearInterval(timer) };
}
