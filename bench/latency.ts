/** How steady answers are: p99 against p50 at half of what the service can do, at a fixed rate for a minute. */
import { FLOOR, PRODUCT, startContestant } from './contestants.ts';
import { removeWritten } from './data/content.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { closedLoop, openLoop, quantile } from './harness/load.ts';
import { figure, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';
import { requestsOf, WORKLOADS } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const CONNECTIONS = 32;
const WARM_UP_MS = quick ? 1_000 : 3_000;
const SATURATION_MS = quick ? 1_000 : 5_000;
const DURATION_MS = quick ? 3_000 : 60_000;
const MAX_RATIO = 4;

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const rows: string[][] = [];
  for (const contestant of [PRODUCT, FLOOR]) {
    const { server } = await startContestant(cleanup, workspace, contestant);
    for (const workload of WORKLOADS) {
      const requests = requestsOf(workload, contestant.dialect, workspace);
      const load = { port: server.port, requests, connections: CONNECTIONS };
      progress(`${contestant.name}, ${workload}`);
      await closedLoop({ ...load, durationMs: WARM_UP_MS });
      const { perSecond } = await closedLoop({ ...load, durationMs: SATURATION_MS });
      const half = perSecond / 2;
      const { p50Ms, p99Ms, latencies } = await openLoop({
        ...load,
        perSecond: half,
        durationMs: DURATION_MS,
      });
      const ratio = p99Ms / p50Ms;
      rows.push([
        contestant.name,
        workload,
        perSecond.toFixed(0),
        half.toFixed(0),
        figure(p50Ms),
        figure(p99Ms),
        figure(quantile(latencies, 1)),
        `${figure(ratio)}${ratio <= MAX_RATIO ? '' : ' (!)'}`,
      ]);
      if (workload === 'W4') await removeWritten(workspace.admin);
    }
    await server.stop();
  }
  const text = [
    `${DURATION_MS / 1000} s at half the rate that ${CONNECTIONS} connections reach; a request that finds none free counts from when it was due. Aim: p99 at most ${MAX_RATIO} times p50; beyond it, (!).`,
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
      ],
      rows,
    ),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  publish('Latency at half the saturation rate', text, quick);
});
