/**
 * Compares the service of this checkout with the service of another checkout (`against FOLDER [--quick] [W0 … W9]`),
 * such as the version before a change. Three processes, each on its own database with the same rows, run in
 * interleaved rounds. The third process runs the other checkout again: its ratio shows the noise of the machine.
 * Prints the ratios and writes no file.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Contestant, PRODUCT, type Running, startContestant } from './contestants.ts';
import { tagPosts } from './data/tags.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { type Figures, ratios } from './harness/measure.ts';
import { checkResponses, measureAll, settingOf } from './harness/side-by-side.ts';
import { spread, table } from './report/markdown.ts';
import { progress } from './report/results.ts';
import { chosenWorkloads, type Workload } from './workloads.ts';

const quick = process.argv.includes('--quick');
const folder = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
const inOther = (path: string) => resolve(folder ?? '', 'bench', path);
if (folder === undefined || !existsSync(inOther('servers/product.ts'))) {
  process.stderr.write('Name the folder of another checkout, with its packages installed.\n');
  process.exit(2);
}

const SIZE = quick ? { users: 1_000, posts: 20_000 } : { users: 10_000, posts: 200_000 };
const WORKLOADS = chosenWorkloads(process.argv);
const ROUNDS = {
  workloads: WORKLOADS,
  rounds: 10,
  firstWarmUpMs: 2_000,
  warmUpMs: 500,
  durationMs: quick ? 600 : 2_000,
};
const OTHER: Contestant = {
  ...PRODUCT,
  name: 'other checkout',
  file: inOther('servers/product.ts'),
  note: '',
};
const OTHER_AGAIN: Contestant = { ...OTHER, name: 'other checkout, again' };
const COLUMNS = ['nodeCpuMs', 'databaseCpuMs', 'perSecond'] as const;
const TITLES = { nodeCpuMs: 'Node CPU', databaseCpuMs: 'database CPU', perSecond: 'requests a second' };

await withCleanup(async (cleanup) => {
  progress(`loading ${SIZE.users} users and ${SIZE.posts} posts`);
  const other = (await import(inOther('data/workspace.ts'))) as { openWorkspace: typeof openWorkspace };
  const options = { size: SIZE, furnish: tagPosts };
  const running: Running[] = [
    await startContestant(cleanup, await openWorkspace(cleanup, options), PRODUCT),
    await startContestant(cleanup, await other.openWorkspace(cleanup, options), OTHER),
    await startContestant(cleanup, await other.openWorkspace(cleanup, options), OTHER_AGAIN),
  ];
  await checkResponses(running, WORKLOADS);
  const measured = await measureAll(running, ROUNDS);
  const divide = (contestant: Contestant, workload: Workload) => {
    const others = measured.get(OTHER)?.get(workload) ?? [];
    return (measured.get(contestant)?.get(workload) ?? []).map((own, round) =>
      ratios(own, others[round] as Figures),
    );
  };
  const rows = WORKLOADS.flatMap((workload) =>
    [PRODUCT, OTHER_AGAIN].map((contestant) => {
      const divided = divide(contestant, workload);
      const label = contestant === PRODUCT ? workload : 'A/A';
      return [label, ...COLUMNS.map((name) => spread(divided.map((round) => round[name])))];
    }),
  );
  process.stdout.write(
    `${settingOf(SIZE, ROUNDS)}; this checkout ÷ the other checkout: median (quartiles). A/A is the other checkout ÷ itself.\n\n`,
  );
  process.stdout.write(`${table(['', ...COLUMNS.map((name) => TITLES[name])], rows)}\n`);
});
