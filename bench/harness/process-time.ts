import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type pg from 'pg';

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK']).toString());

/** CPU time of a process of this machine, in milliseconds; undefined where there is no such process. */
function cpuMs(pid: number): number | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  // proc(5): the name in field 2 may hold spaces; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
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
