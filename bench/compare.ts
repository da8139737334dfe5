/**
 * The service side by side with the floor, its peers and itself without look-ahead: every server a process of its own
 * with a pool of 10, one database, 32 connections, interleaved in rounds.
 */
import { CONTESTANTS, type Contestant, type Running, startContestant } from './contestants.ts';
import { removeWritten } from './data/content.ts';
import { openWorkspace, type Workspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { once } from './harness/load.ts';
import { type Figures, measure } from './harness/measure.ts';
import { comparison } from './report/comparison.ts';
import { progress, publish } from './report/results.ts';
import { normalised, requestsOf, WORKLOADS, type Workload } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const CONNECTIONS = 32;
const ROUNDS = quick ? 2 : 5;
/** The first run of a workload compiles: V8, the JIT of an operation, plans of statements. */
const FIRST_WARM_UP_MS = quick ? 700 : 3_000;
const WARM_UP_MS = quick ? 200 : 1_000;
const DURATION_MS = quick ? 600 : 3_500;
const CHECKED_REQUESTS = 20;

/** Throws unless everybody answers every workload with the same data. */
async function checkAnswers(running: readonly Running[], workspace: Workspace): Promise<void> {
  for (const workload of WORKLOADS) {
    const answers = await Promise.all(
      running.map(async ({ contestant, server }) => {
        const requests = requestsOf(workload, contestant.dialect, workspace).slice(0, CHECKED_REQUESTS);
        const texts: string[] = [];
        for (const request of requests) {
          const { text } = await once(server.port, request);
          texts.push(JSON.stringify(normalised(workload, text)));
        }
        return { name: contestant.name, text: texts.join('\n') };
      }),
    );
    const [first] = answers;
    for (const { name, text } of answers)
      if (text !== first?.text)
        throw new Error(
          `${workload}: ${name} answers\n${text.slice(0, 1000)}\n${first?.name} answers\n${first?.text.slice(0, 1000)}`,
        );
    if (workload === 'W4') await removeWritten(workspace.admin);
  }
}

async function measureAll(
  running: readonly Running[],
  workspace: Workspace,
): Promise<Map<Contestant, Map<Workload, Figures[]>>> {
  const measured = new Map<Contestant, Map<Workload, Figures[]>>(
    running.map(({ contestant }) => [contestant, new Map()]),
  );
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const workload of WORKLOADS) {
      progress(`round ${round} of ${ROUNDS}, ${workload}`);
      // Each round begins with another one, so that none is always first after the break.
      const turn = running.map((_, index) => running[(index + round) % running.length] as Running);
      for (const entry of turn) {
        const figures = await measure(workspace, entry, {
          requests: requestsOf(workload, entry.contestant.dialect, workspace),
          connections: CONNECTIONS,
          warmUpMs: round === 1 ? FIRST_WARM_UP_MS : WARM_UP_MS,
          durationMs: DURATION_MS,
        });
        const byWorkload = measured.get(entry.contestant);
        byWorkload?.set(workload, [...(byWorkload.get(workload) ?? []), figures]);
        if (workload === 'W4') await removeWritten(workspace.admin);
      }
    }
  }
  return measured;
}

await withCleanup(async (cleanup) => {
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  progress('starting the servers');
  const running: Running[] = [];
  for (const contestant of CONTESTANTS) running.push(await startContestant(cleanup, workspace, contestant));
  await checkAnswers(running, workspace);
  progress('all answers are equal');
  const measured = await measureAll(running, workspace);
  const text = comparison({
    measured,
    setting: `${SIZE.users.toLocaleString('en')} users, ${SIZE.posts.toLocaleString('en')} posts, ${CONNECTIONS} connections, pools of 10, median of ${ROUNDS} rounds of ${DURATION_MS / 1000} s`,
    workspace,
  });
  publish('Side by side', text, quick);
});
