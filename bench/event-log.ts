/**
 * The event log with very many events (`event-log [--events 50000000] [--quick]`): in one table, as it is, and in one that
 * has a partition for each day, as it might be. Eight days of events; the first of them is cleaned up. Prints a table and
 * writes no file. Needs 35 GB of disk for 50,000,000 events.
 */
import { randomInt } from 'node:crypto';
import pg from 'pg';
import type { EventName } from '../src/events/event-id.ts';
import { startPostgres } from './data/postgres.ts';
import { type LayoutName, type Log, openLogs } from './event-log/layouts.ts';
import { resume } from './event-log/resume.ts';
import { type Written, writeFor } from './event-log/writes.ts';
import { withCleanup } from './harness/cleanup.ts';
import { median, quantile } from './harness/load.ts';
import { backendTimes, spentMs } from './harness/process-time.ts';
import { table } from './report/markdown.ts';
import { progress } from './report/results.ts';

const quick = process.argv.includes('--quick');
const given = process.argv[process.argv.indexOf('--events') + 1];
const EVENTS = process.argv.includes('--events') ? Number(given) : quick ? 400_000 : 50_000_000;
const STREAMS = 1_000;
const ROUNDS = quick ? 3 : 8;
const ROUND_MS = quick ? 500 : 3_000;
const LIMIT_MS = 3 * 60 * 60_000;

const number = (value: number) => Math.round(value).toLocaleString('en');
const megabytes = (bytes: number) => `${number(bytes / 1e6)} MB`;
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
const milliseconds = (ms: number) => `${ms.toFixed(2)} ms`;

/** What the report has of each layout: titles to figures. */
type Column = Map<string, string>;

const places = (from: number) =>
  Array.from({ length: STREAMS }, () =>
    randomInt(Math.ceil(EVENTS * from) + 1, EVENTS - 10_000 * Number(!quick)),
  );

async function resumes(log: Log, from: number): Promise<string> {
  const names: EventName[] = await log.namesOf(places(from));
  const latencies = await resume(log.database, names);
  return `${milliseconds(quantile(latencies, 0.5))}, ${milliseconds(quantile(latencies, 0.99))}`;
}

async function measured(
  log: Log,
  work: () => Promise<unknown>,
): Promise<{ ms: number; cpuMs: number; walBytes: number }> {
  const backends = await backendTimes(log.admin, log.applicationName);
  const walBefore = await log.walBytes();
  const startedMs = performance.now();
  await work();
  const ms = performance.now() - startedMs;
  const cpuMs = spentMs(backends, await backendTimes(log.admin, log.applicationName));
  return { ms, cpuMs, walBytes: (await log.walBytes()) - walBefore };
}

/** Events one by one from ten connections, in turn with the other layout: a second, and of each CPU and WAL. */
async function writes(
  logs: ReadonlyMap<LayoutName, Log>,
  columns: ReadonlyMap<LayoutName, Column>,
  when: string,
) {
  const rounds = new Map<LayoutName, { perSecond: number; cpuMs: number; walBytes: number }[]>();
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, log] of logs) {
      let written: Written = { count: 0, latencies: new Float64Array() };
      const { ms, cpuMs, walBytes } = await measured(log, async () => {
        written = await writeFor(log.pool, ROUND_MS);
      });
      const { count } = written;
      const one = { perSecond: (count / ms) * 1000, cpuMs: cpuMs / count, walBytes: walBytes / count };
      if (round > 0) rounds.set(name, [...(rounds.get(name) ?? []), one]);
    }
  for (const [name, all] of rounds) {
    const of = (value: (one: (typeof all)[number]) => number) => median(all.map(value));
    columns
      .get(name)
      ?.set(
        `events written a second, ${when}; of each database CPU, WAL`,
        `${number(of(({ perSecond }) => perSecond))}; ${milliseconds(of(({ cpuMs }) => cpuMs))}, ${number(of(({ walBytes }) => walBytes))} B`,
      );
  }
}

/** The first day goes, beside somebody who writes. */
async function cleanUp(log: Log, column: Column): Promise<void> {
  const stop = new AbortController();
  const writing = writeFor(log.lookers, LIMIT_MS, stop.signal);
  const { ms, cpuMs, walBytes } = await measured(log, () => log.removeFirstDay());
  stop.abort();
  const { latencies, count } = await writing;
  column.set(
    'events left; written meanwhile, whose WAL is in the next line',
    `${number(await log.count())}; ${number(count)}`,
  );
  column.set('removing them', `${seconds(ms)}; ${seconds(cpuMs)} of CPU, ${megabytes(walBytes)} of WAL`);
  column.set(
    'a write meanwhile, p50, p99, longest',
    [quantile(latencies, 0.5), quantile(latencies, 0.99), latencies.at(-1) ?? Number.NaN]
      .map(milliseconds)
      .join(', '),
  );
  column.set('resumes right after, in the last day', await resumes(log, 7 / 8));
  const vacuum = await measured(log, () => log.vacuum());
  column.set('VACUUM after it', `${seconds(vacuum.ms)}; ${megabytes(vacuum.walBytes)} of WAL`);
}

await withCleanup(async (cleanup) => {
  const postgres = await startPostgres();
  cleanup.defer(() => postgres.stop());
  const maintenance = new pg.Client({ connectionString: postgres.url });
  await maintenance.connect();
  cleanup.defer(() => maintenance.end());
  const logs = await openLogs(cleanup, maintenance, postgres.url, EVENTS);
  const columns = new Map<LayoutName, Column>([...logs.keys()].map((name) => [name, new Map()]));
  const each = async (about: string, work: (log: Log, column: Column) => Promise<void>) => {
    for (const [name, log] of logs) {
      progress(`${name}: ${about}`);
      await work(log, columns.get(name) ?? new Map());
    }
  };
  await each(`loading ${number(EVENTS)} events`, async (log, column) => {
    await log.load();
    column.set('size, with its indexes', megabytes(await log.bytes()));
  });
  progress('writing');
  await writes(logs, columns, 'at first');
  await each('resuming', async (log, column) => {
    column.set(`${number(STREAMS)} resumes in the last day, p50, p99`, await resumes(log, 7 / 8));
    column.set(`${number(STREAMS)} resumes in all days, p50, p99`, await resumes(log, 0));
  });
  await each('cleaning up', cleanUp);
  await each('writing another day', async (log, column) => {
    const { ms, walBytes } = await measured(log, () => log.writeDay());
    column.set('another day written at once', `${seconds(ms)}; ${megabytes(walBytes)} of WAL`);
    await log.vacuum();
    column.set('size after it', megabytes(await log.bytes()));
    column.set('resumes then, in the last day', await resumes(log, 7 / 8));
  });
  await writes(logs, columns, 'then');
  const [first = new Map<string, string>()] = columns.values();
  const rows = [...first.keys()].map((title) => [
    title,
    ...[...columns.values()].map((column) => column.get(title) ?? ''),
  ]);
  process.stdout.write(`${number(EVENTS)} events of eight days; ${postgres.settings}\n\n`);
  process.stdout.write(`${table(['', ...columns.keys()], rows)}\n`);
}, LIMIT_MS);
