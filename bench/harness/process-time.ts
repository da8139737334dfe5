import { readFileSync, writeFileSync } from 'node:fs';
import type pg from 'pg';

/** CPU time of a thread on this machine, in milliseconds, a process' first one by default; undefined where it has ended. */
function cpuMs(pid: number, thread = pid): number | undefined {
  try {
    // Nanoseconds first (Documentation/scheduler/sched-stats.rst); proc(5)'s `stat` has hundredths of a second.
    const [spent] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(spent) / 1_000_000;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** CPU time by backend of one server's connections, or by thread of one process. */
export type BackendTimes = ReadonlyMap<number, number>;

/** The backends that serve connections of this application name; empty where the database is on another machine. */
export async function backendTimes(admin: pg.Client, applicationName: string): Promise<BackendTimes> {
  const { rows } = await admin.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE application_name = $1',
    [applicationName],
  );
  return new Map(
    rows.flatMap(({ pid }) => {
      const time = cpuMs(pid);
      return time === undefined ? [] : [[pid, time]];
    }),
  );
}

/** The CPU time between two looks; backends and threads that came in between count from their start. */
export function spentMs(before: BackendTimes, after: BackendTimes): number {
  return [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}

function statusBytes(pid: number, name: string): number {
  const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  )?.[1];
  return Number(kilobytes) * 1024;
}

/** The most that the memory has been since `resetPeak`, in bytes. */
export const peakBytes = (pid: number) => statusBytes(pid, 'VmHWM');

/** From now on the peak counts anew (proc(5), `clear_refs`). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
