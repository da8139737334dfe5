import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
/** Finalizers let go of more after the first time. */
const COLLECTIONS = 4;

/** What of the memory of this process is alive, in bytes. */
export async function liveBytes(): Promise<number> {
  for (let turn = 0; turn < COLLECTIONS; turn += 1) {
    collect();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
