/**
 * What traces cost (`traces [--quick] [W0 … W9]`): the service without a collector, beside itself with one in a hundred
 * traces sampled, with all, and with all and a collector that is down. Interleaved in rounds. Prints the ratios and writes no
 * file.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Contestant, PRODUCT, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { type Figures, ratios } from './harness/measure.ts';
import { checkAnswers, measureAll, settingOf } from './harness/side-by-side.ts';
import { spread, table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { chosenWorkloads, WORKLOADS } from './workloads.ts';

const quick = process.argv.includes('--quick');
const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const named = WORKLOADS.some((workload) => process.argv.includes(workload));
const CHOSEN = named ? chosenWorkloads(process.argv) : (['W2', 'W4'] as const);
const ROUNDS = {
  workloads: CHOSEN,
  rounds: 10,
  firstWarmUpMs: 2_000,
  warmUpMs: 500,
  durationMs: quick ? 600 : 2_000,
};
const COLUMNS = ['nodeCpuMs', 'databaseCpuMs', 'perSecond'] as const;
const TITLES = { nodeCpuMs: 'Node CPU', databaseCpuMs: 'database CPU', perSecond: 'requests a second' };
/** Nobody listens there. */
const DOWN = 'http://127.0.0.1:1';

const sampled = (share: string, endpoint: string) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_TRACES_SAMPLER: 'traceidratio',
  OTEL_TRACES_SAMPLER_ARG: share,
});

await withCleanup(async (cleanup) => {
  const collector = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200).end());
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  cleanup.defer(() => {
    collector.closeAllConnections();
    collector.close();
  });
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const variants: readonly [string, Readonly<Record<string, string>>][] = [
    ['without a collector', {}],
    ['1 in 100', sampled('0.01', endpoint)],
    ['all', sampled('1', endpoint)],
    ['all, collector down', sampled('1', DOWN)],
  ];
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const workspace = await openWorkspace(cleanup, { size: SIZE, furnish: tagPosts });
  const running = [];
  for (const [name, settings] of variants) {
    const contestant: Contestant = { ...PRODUCT, name };
    running.push(await startContestant(cleanup, workspace, contestant, { settings }));
  }
  await checkAnswers(running, CHOSEN);
  const measured = await measureAll(running, ROUNDS);
  const [base, ...others] = running.map(({ contestant }) => contestant);
  const rows = CHOSEN.flatMap((workload) =>
    others.map((contestant) => {
      const bases = base === undefined ? [] : (measured.get(base)?.get(workload) ?? []);
      const divided = (measured.get(contestant)?.get(workload) ?? []).map((own, round) =>
        ratios(own, bases[round] as Figures),
      );
      return [
        `${workload}, ${contestant.name}`,
        ...COLUMNS.map((name) => spread(divided.map((one) => one[name]))),
      ];
    }),
  );
  process.stdout.write(`${settingOf(SIZE, ROUNDS)}; traces ÷ none: median (quartiles).\n\n`);
  process.stdout.write(`${table(['', ...COLUMNS.map((name) => TITLES[name])], rows)}\n`);
});
