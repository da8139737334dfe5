/**
 * The service side by side with the floor, its peers and itself without look-ahead: every server a process of its own
 * with a pool of 10, one database, 32 connections, interleaved in rounds.
 */
import { CONTESTANTS, type Running, startContestant } from './contestants.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { checkAnswers, measureAll, settingOf } from './harness/side-by-side.ts';
import { comparison } from './report/comparison.ts';
import { progress, publish } from './report/results.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const ROUNDS = quick
  ? { rounds: 2, firstWarmUpMs: 700, warmUpMs: 200, durationMs: 600 }
  : { rounds: 5, firstWarmUpMs: 3_000, warmUpMs: 1_000, durationMs: 3_500 };

await withCleanup(async (cleanup) => {
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  progress('starting the servers');
  const running: Running[] = [];
  for (const contestant of CONTESTANTS) running.push(await startContestant(cleanup, workspace, contestant));
  await checkAnswers(running, workspace);
  progress('all answers are equal');
  const measured = await measureAll(running, workspace, ROUNDS);
  publish('Side by side', comparison({ measured, setting: settingOf(SIZE, ROUNDS), workspace }), quick);
});
