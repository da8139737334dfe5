/**
 * Where the service's time goes under a workload: the functions with the most time of their own, and a flame graph in a
 * file. `--browser` sends what Chromium does, so that responses are compressed.
 *
 *   npm run bench -- profile [W0 … W9] [--browser] [--svg FILE]
 */
import { writeFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector/promises';
import { PRODUCT, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { closedLoop } from './harness/load.ts';
import { flameGraph, placeOf } from './report/flame-graph.ts';
import { table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { browserRequests, OWN_ORIGIN } from './workloads/browser.ts';
import { requestsOf } from './workloads/requests.ts';
import { NAMES, WORKLOADS } from './workloads.ts';

const SIZE = { users: 1_000, posts: 20_000 };
const svg = process.argv[process.argv.indexOf('--svg') + 1 || process.argv.length];
const browser = process.argv.includes('--browser');
const DURATION_MS = process.argv.includes('--quick') ? 3_000 : 10_000;
const WARM_UP_MS = 3_000;
const CONNECTIONS = 32;
const SHOWN = 40;
/** Waiting, and the profiler's own doing. */
const NOT_WORK = /^\(idle\)|node:inspector/;

type CallFrame = Profiler.ProfileNode['callFrame'];

/** The time that calls of one name took themselves, the longest first. */
function selfTimes(
  { nodes, samples = [], timeDeltas = [] }: Profiler.Profile,
  nameOf: (frame: CallFrame) => string,
): [string, number][] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? '';
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  }
  return [...times].filter(([name]) => !NOT_WORK.test(name)).toSorted(([, a], [, b]) => b - a);
}

function nameOfFunction({ functionName, url, lineNumber }: CallFrame): string {
  const file = url.replace(/^.*\/(?=node_modules\/|src\/)/, '');
  return `${functionName || '(anonymous)'} ${file}${url ? `:${lineNumber + 1}` : ''}`;
}

await withCleanup(async (cleanup) => {
  const workload = WORKLOADS.find((name) => process.argv.includes(name)) ?? 'W2';
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const { server } = await startContestant(cleanup, workspace, PRODUCT);
  const requests = browser
    ? browserRequests(workload, { name: '', origin: OWN_ORIGIN, by: 'key' }, PRODUCT, {
        ...workspace,
        sessions: [],
      })
    : requestsOf(workload, PRODUCT.dialect, workspace);
  const load = { port: server.port, requests, connections: CONNECTIONS };
  await closedLoop({ ...load, durationMs: WARM_UP_MS });
  progress(`profiling ${workload}`);
  let count = 0;
  const profile = await server.profile(async () => {
    count = (await closedLoop({ ...load, durationMs: DURATION_MS })).count;
  });
  const name = `${workload}: ${NAMES[workload]}${browser ? ', as a browser requests it' : ''}`;
  if (svg !== undefined) writeFileSync(svg, flameGraph({ title: name, profile, requests: count }));
  const tables = [
    ['function', selfTimes(profile, nameOfFunction)],
    ['place', selfTimes(profile, (frame) => placeOf(frame)[0])],
  ] as const;
  process.stdout.write(`${name}, ${count} requests\n`);
  for (const [what, times] of tables) {
    const total = times.reduce((sum, [, ms]) => sum + ms, 0);
    const rows = times
      .slice(0, SHOWN)
      .map(([place, ms]) => [((ms / total) * 100).toFixed(1), ((ms * 1000) / count).toFixed(1), place]);
    process.stdout.write(`\n${table(['%', 'µs a request', what], rows)}\n`);
  }
});
