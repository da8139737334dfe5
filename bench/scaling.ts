/**
 * One instance, and two with Redis, without and behind PgBouncer, on this machine (`scaling [--quick] [W0 … W9]`): requests a
 * second, latencies and CPU of the same load, in turn; and how many requests a bucket lets through where the load is spread over both. Prints tables and
 * writes no file.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPgBouncer } from '../scripts/cluster/pgbouncer.ts';
import { freePorts } from '../scripts/cluster/processes.ts';
import { findRedis, startRedis } from '../scripts/cluster/programs.ts';
import { PRODUCT, type Running, startContestant } from './contestants.ts';
import { removeWritten } from './data/content.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { closedLoop, inTurn, median, quantile } from './harness/load.ts';
import { spread, table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { requestsOf } from './workloads/requests.ts';
import { chosenWorkloads, WORKLOADS, type Workload, writes } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const named = WORKLOADS.some((workload) => process.argv.includes(workload));
const CHOSEN = named ? chosenWorkloads(process.argv) : (['W2', 'W4', 'W9'] as const);
const ROUNDS = quick ? 5 : 10;
const DURATION_MS = quick ? 1_000 : 2_000;
const CONNECTIONS = 32;
/** A bucket that hardly fills up while it is measured. */
const BUCKET = { RATE_LIMIT_BURST: '1000', RATE_LIMIT_PER_SECOND: '0.001' };
const ASKED = 4_000;

interface Round {
  readonly perSecond: number;
  readonly latencies: Float64Array;
  readonly cpuMs: number;
}

/** Each request is of another account than the one before it, as in most batches that Redis gets. */
function requestsOfAll({ workspace, contestant }: Running, workload: Workload): () => Buffer {
  const accounts = workspace.keys.map((key) =>
    inTurn(requestsOf(workload, contestant.dialect, { ...workspace, keys: [key] })),
  );
  let turn = 0;
  return () => (accounts[turn++ % accounts.length] as () => Buffer)();
}

/** The same load, divided among instances as a proxy would. */
async function measure(
  instances: readonly Running[],
  workload: Workload,
  durationMs: number,
): Promise<Round> {
  const usage = async () => {
    const all = await Promise.all(instances.map(({ server }) => server.usage()));
    return all.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  };
  const before = await usage();
  const loads = await Promise.all(
    instances.map((instance) =>
      closedLoop({
        port: instance.server.port,
        requests: requestsOfAll(instance, workload),
        connections: CONNECTIONS / instances.length,
        durationMs,
      }),
    ),
  );
  const count = loads.reduce((sum, load) => sum + load.count, 0);
  return {
    perSecond: loads.reduce((sum, load) => sum + load.perSecond, 0),
    latencies: Float64Array.from(loads.flatMap(({ latencies }) => [...latencies])).sort(),
    cpuMs: ((await usage()) - before) / count,
  };
}

/** How many of so many requests with one key are let through. */
async function allowed(instances: readonly Running[]): Promise<number> {
  let through = 0;
  let left = ASKED;
  await Promise.all(
    instances.map(({ server, workspace, contestant }) =>
      closedLoop({
        port: server.port,
        requests: requestsOf('W0', contestant.dialect, workspace),
        connections: CONNECTIONS / instances.length,
        durationMs: 60_000,
        check(status) {
          if (status === 200) through += 1;
          left -= 1;
          if (left <= 0) throw new RangeError('enough');
        },
      }).catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
      }),
    ),
  );
  return through;
}

await withCleanup(async (cleanup) => {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-scaling-'));
  cleanup.defer(() => rm(folder, { recursive: true, force: true }));
  const [port = 0] = await freePorts(1);
  const { signal } = new AbortController();
  const redis = await startRedis(findRedis(), { folder, port, signal });
  cleanup.defer(async () => void (await redis.service.stop()));
  const shared = { REDIS_URL: redis.url };
  const start = (workspace: Workspace, name: string, settings: Readonly<Record<string, string>>) =>
    startContestant(cleanup, workspace, { ...PRODUCT, name }, { settings });

  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts, keys: CONNECTIONS });
  const direct = workspace.urlFor('pooled');
  const pooled = {
    ...shared,
    DATABASE_URL: await startPgBouncer(direct, (end) => cleanup.defer(end)),
    DIRECT_DATABASE_URL: direct,
  };
  const setups: readonly [string, readonly Running[]][] = [
    ['one instance', [await start(workspace, 'alone', {})]],
    // What differs between equal instances shows the noise of the machine.
    ['one instance, again', [await start(workspace, 'alone again', {})]],
    ['one instance, with Redis', [await start(workspace, 'alone with Redis', shared)]],
    [
      'two instances, with Redis',
      [await start(workspace, 'first of two', shared), await start(workspace, 'second of two', shared)],
    ],
    [
      'two, with Redis, through PgBouncer',
      [await start(workspace, 'first pooled', pooled), await start(workspace, 'second pooled', pooled)],
    ],
  ];
  const measured = new Map(
    CHOSEN.map((workload) => [workload, setups.map(([name]) => ({ name, rounds: [] as Round[] }))]),
  );
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [workload, results] of measured) {
      progress(`round ${round} of ${ROUNDS}, ${workload}`);
      for (const index of setups.keys()) {
        // Each round begins with another set-up, so that none is always first after the break.
        const turn = (index + round) % setups.length;
        const one = await measure(setups[turn]?.[1] ?? [], workload, DURATION_MS);
        // The first compiles.
        if (round > 0) results[turn]?.rounds.push(one);
        if (writes(workload)) await removeWritten(workspace.admin);
      }
    }
  const entries = [...measured].flatMap(([workload, results]) =>
    results.map(({ name, rounds }) => ({ name: `${workload}, ${name}`, rounds, alone: results[0]?.rounds })),
  );
  const rows = entries.map(({ name, rounds, alone = [] }) => {
    const of = (value: (round: Round) => number) => median(rounds.map(value));
    return [
      name,
      Math.round(of(({ perSecond }) => perSecond)).toLocaleString('en'),
      spread(rounds.map(({ perSecond }, round) => perSecond / (alone[round]?.perSecond ?? Number.NaN))),
      of(({ latencies }) => quantile(latencies, 0.5)).toFixed(1),
      of(({ latencies }) => quantile(latencies, 0.99)).toFixed(1),
      of(({ cpuMs }) => cpuMs).toFixed(3),
    ];
  });
  const { length: cores } = cpus();
  process.stdout.write(
    `${cores} cores, shared with PostgreSQL, Redis and the load; ${SIZE.posts.toLocaleString('en')} posts, ${CONNECTIONS} connections and accounts, median (quartiles) of ${ROUNDS} rounds of ${DURATION_MS / 1000} s\n\n` +
      `${table(['', 'requests a second', '÷ one instance', 'p50, ms', 'p99, ms', 'Node CPU a request, ms'], rows)}\n\n`,
  );

  const small = { size: { users: 100, posts: 1_000 }, limited: true };
  const counts: [string, string][] = [];
  for (const [name, settings] of [
    ['without Redis', {}],
    ['with Redis', shared],
  ] as const) {
    const limited = await openWorkspace(cleanup, small);
    const both = [
      await start(limited, `first ${name}`, { ...BUCKET, ...settings }),
      await start(limited, `second ${name}`, { ...BUCKET, ...settings }),
    ];
    counts.push([`two instances ${name}`, (await allowed(both)).toLocaleString('en')]);
  }
  process.stdout.write(
    `A bucket of ${BUCKET.RATE_LIMIT_BURST}, ${ASKED.toLocaleString('en')} requests with one key\n\n${table(['', 'let through'], counts)}\n`,
  );
});
