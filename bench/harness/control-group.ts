import { existsSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the control groups of memory are, and what the limit is called (cgroup v1, else v2). */
const V1 = { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' };
const V2 = { root: '/sys/fs/cgroup', limit: 'memory.max' };

/**
 * Runs what starts processes while this one is in a control group of that much memory: they stay in it, as in a
 * container, this one does not. Needs root; removed with `cleanup`, after the processes have ended.
 */
export async function inControlGroup<Result>(
  cleanup: AsyncDisposableStack,
  limitBytes: number,
  start: () => Promise<Result>,
): Promise<Result> {
  const { root, limit } = existsSync(V1.root) ? V1 : V2;
  const before = readFileSync('/proc/self/cgroup', 'latin1')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, controllers]) => controllers === (root === V1.root ? 'memory' : ''))?.[2];
  if (before === undefined) throw new Error('this machine has no control groups');
  const group = mkdtempSync(join(root, 'content-graph-bench-'));
  cleanup.defer(() => rmdirSync(group));
  writeFileSync(join(group, limit), String(limitBytes));
  const move = (to: string) => writeFileSync(join(to, 'cgroup.procs'), String(process.pid));
  move(group);
  try {
    return await start();
  } finally {
    move(join(root, before));
  }
}
