/**
 * How steady answers are: p99 against p50 at half of what the service can do, at a fixed rate for a minute, and what the
 * floor makes of the minute after it. The minute is told in pieces too: what else the machine does falls on a few. The load generator goes first
 * where it may (as root): what it is late with would be told of the server.
 */
import { setPriority } from 'node:os';
import { FLOOR, PRODUCT, type Running, startContestant } from './contestants.ts';
import { removeWritten } from './data/content.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { closedLoop, median, openLoop, quantile } from './harness/load.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';
import { requestsOf } from './workloads/requests.ts';
import { BASIC, type Workload, writes } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const CONNECTIONS = 32;
/** V8 compiles on, on the other processor, for some twenty seconds. */
const WARM_UP_MS = quick ? 1_000 : 20_000;
const SATURATION_MS = quick ? 1_000 : 5_000;
const PIECES = quick ? 2 : 12;
const PIECE_MS = quick ? 1_500 : 5_000;
const MAX_RATIO = 4;
const FIRST = -15;

function goFirst(): void {
  if (process.getuid?.() === 0) setPriority(FIRST);
}

/** One server under one workload. */
interface Run {
  readonly running: Running;
  readonly saturation: number;
  /** Latencies of each piece, sorted, in milliseconds. */
  readonly pieces: readonly Float64Array[];
}

async function measure(running: Running, workload: Workload, workspace: Workspace): Promise<Run> {
  const { contestant, server } = running;
  const requests = requestsOf(workload, contestant.dialect, workspace);
  const load = { port: server.port, requests, connections: CONNECTIONS };
  await closedLoop({ ...load, durationMs: WARM_UP_MS });
  const { perSecond } = await closedLoop({ ...load, durationMs: SATURATION_MS });
  const pieces: Float64Array[] = [];
  while (pieces.length < PIECES)
    pieces.push((await openLoop({ ...load, perSecond: perSecond / 2, durationMs: PIECE_MS })).latencies);
  return { running, saturation: perSecond, pieces };
}

const p50 = (latencies: Float64Array) => quantile(latencies, 0.5);
const p99 = (latencies: Float64Array) => quantile(latencies, 0.99);
const marked = (ratio: number) => `${figure(ratio)}${ratio <= MAX_RATIO ? '' : ' (!)'}`;

function rowOf({ running, saturation, pieces }: Run, workload: Workload): string[] {
  const all = Float64Array.from(pieces.flatMap((piece) => [...piece])).sort();
  const ratio = p99(all) / p50(all);
  progress(`${running.contestant.name}, ${workload}: p50 ${figure(p50(all))} ms, p99 ${figure(p99(all))} ms`);
  return [
    running.contestant.name,
    workload,
    saturation.toFixed(0),
    (saturation / 2).toFixed(0),
    figure(p50(all)),
    figure(p99(all)),
    figure(quantile(all, 1)),
    marked(ratio),
    marked(median(pieces.map((piece) => p99(piece) / p50(piece)))),
  ];
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const servers: Running[] = [];
  for (const contestant of [PRODUCT, FLOOR])
    servers.push(await startContestant(cleanup, workspace, contestant));
  goFirst();
  const rows: string[][] = [];
  for (const workload of BASIC) {
    for (const running of servers) {
      progress(`${running.contestant.name}, ${workload}`);
      rows.push(rowOf(await measure(running, workload, workspace), workload));
      if (writes(workload)) await removeWritten(workspace.admin);
    }
  }
  const text = [
    `${(PIECES * PIECE_MS) / 1000} s at half the rate that ${CONNECTIONS} connections reach, after ${WARM_UP_MS / 1000} s to warm up; a request that finds no connection free counts from when it was due. The last column is the median of ${PIECES} pieces of that time, which a pause of the machine moves less. Aim: p99 at most ${MAX_RATIO} times p50; beyond it, (!).`,
    table(
      [
        'server',
        'workload',
        'saturation, a second',
        'rate, a second',
        'p50, ms',
        'p99, ms',
        'longest, ms',
        'p99 ÷ p50',
        'in the median piece',
      ],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Latency at half the saturation rate', text, quick);
});
