import { readFileSync } from 'node:fs';
import type pg from 'pg';

/** CPU time of a process of one thread on this machine, in milliseconds; undefined where there is no such process. */
function cpuMs(pid: number): number | undefined {
  try {
    // Nanoseconds first (Documentation/scheduler/sched-stats.rst); proc(5)'s `stat` has hundredths of a second.
    const [spent] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
    return Number(spent) / 1_000_000;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** CPU time by backend of one server's connections. */
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

/** The CPU time between two looks; backends that came in between count from their start. */
export function spentMs(before: BackendTimes, after: BackendTimes): number {
  return [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}

/** Resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}
