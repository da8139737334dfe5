/**
 * The service side by side with the floor, its peers and itself without look-ahead: every server a process of its own
 * with a pool of 10, one database, 32 connections, interleaved in rounds. Workloads that are named are the only ones,
 * for a look; so is a quick run.
 *
 *   npm run bench [-- compare] [--quick] [W0 … W9] [--charts FOLDER]
 */
import { parseArgs } from 'node:util';
import { CONTESTANTS, type Running, runs, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { checkResponses, measureAll, settingOf } from './harness/side-by-side.ts';
import { writeCharts } from './report/charts.ts';
import { comparison } from './report/comparison.ts';
import { ratiosToFloor } from './report/ratios.ts';
import { progress, publish } from './report/results.ts';
import { chosenWorkloads, WORKLOADS } from './workloads.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, charts: { type: 'string' } },
});
const CHOSEN = chosenWorkloads(positionals);
const quick = values.quick;
/** Whether it is good for a look only. */
const partial = quick || CHOSEN.length < WORKLOADS.length;
const CHARTS = 'charts';
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const ROUNDS = {
  workloads: CHOSEN,
  ...(quick
    ? { rounds: 2, firstWarmUpMs: 400, warmUpMs: 100, durationMs: 400 }
    : { rounds: 5, firstWarmUpMs: 3_000, warmUpMs: 500, durationMs: 2_000 }),
};

await withCleanup(async (cleanup) => {
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  progress('starting the servers');
  const running: Running[] = [];
  for (const contestant of CONTESTANTS)
    if (CHOSEN.some((workload) => runs(contestant, workload)))
      running.push(await startContestant(cleanup, workspace, contestant));
  await checkResponses(running, CHOSEN);
  progress('all answers are equal');
  const measured = await measureAll(running, ROUNDS);
  const ratios = ratiosToFloor(measured);
  const folder = values.charts ?? (partial ? undefined : `${import.meta.dirname}/${CHARTS}`);
  if (folder !== undefined) writeCharts(ratios, folder);
  const setting = settingOf(SIZE, ROUNDS);
  const text = comparison({ measured, ratios, workloads: CHOSEN, setting, charts: CHARTS, workspace });
  publish('Side by side', text, partial);
});
