/**
 * Where the service's time goes under a workload: the functions with the most time of their own.
 *
 *   npm run bench -- profile [W0 … W9]
 */
import type { Profiler } from 'node:inspector/promises';
import { PRODUCT, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { closedLoop } from './harness/load.ts';
import { table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { requestsOf } from './workloads/requests.ts';
import { WORKLOADS } from './workloads.ts';

const SIZE = { users: 1_000, posts: 20_000 };
const DURATION_MS = process.argv.includes('--quick') ? 3_000 : 10_000;
const WARM_UP_MS = 3_000;
const CONNECTIONS = 32;
const SHOWN = 40;
/** Waiting, and the profiler's own doing. */
const NOT_WORK = /^\(idle\)|node:inspector/;

function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): [string, number][] {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
      const file = url.replace(/^.*\/(?=node_modules\/|src\/)/, '');
      return [id, `${functionName || '(anonymous)'} ${file}${url ? `:${lineNumber + 1}` : ''}`];
    }),
  );
  const times = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '';
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  }
  return [...times].filter(([name]) => !NOT_WORK.test(name)).toSorted(([, a], [, b]) => b - a);
}

/** The same by package, and by file of the service. What has no file is native: sockets, the log's writes, JSON. */
function byPlace(times: readonly [string, number][]): [string, number][] {
  const places = new Map<string, number>();
  for (const [name, ms] of times) {
    const file = name.slice(name.lastIndexOf(' ') + 1).replace(/:\d+$/, '');
    const place =
      /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? (/^node:/.test(file) ? 'node' : file);
    const title = place === '' ? `native ${name.trim()}` : place;
    places.set(title, (places.get(title) ?? 0) + ms);
  }
  return [...places].toSorted(([, a], [, b]) => b - a);
}

await withCleanup(async (cleanup) => {
  const workload = WORKLOADS.find((name) => process.argv.includes(name)) ?? 'W2';
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const { server } = await startContestant(cleanup, workspace, PRODUCT);
  const requests = requestsOf(workload, PRODUCT.dialect, workspace);
  const load = { port: server.port, requests, connections: CONNECTIONS };
  await closedLoop({ ...load, durationMs: WARM_UP_MS });
  progress(`profiling ${workload}`);
  let count = 0;
  const profile = await server.profile(async () => {
    count = (await closedLoop({ ...load, durationMs: DURATION_MS })).count;
  });
  const times = selfTimes(profile);
  const total = times.reduce((sum, [, ms]) => sum + ms, 0);
  const rows = (entries: readonly [string, number][]) =>
    entries
      .slice(0, SHOWN)
      .map(([name, ms]) => [((ms / total) * 100).toFixed(1), ((ms * 1000) / count).toFixed(1), name]);
  process.stdout.write(
    `${workload}: ${count} requests\n\n${table(['%', 'µs a request', 'function'], rows(times))}\n\n` +
      `${table(['%', 'µs a request', 'place'], rows(byPlace(times)))}\n`,
  );
});
