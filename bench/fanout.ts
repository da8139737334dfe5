/**
 * Measures the cost of sending new posts to thousands of subscribers: the service compared with servers that only
 * write, and the cost of different selections. The subscribers run in a separate process. `--only NAME` runs one part and writes nothing down; `--subscribers N` is for a look at other numbers of
 * them than those of the report.
 */
import { writeFileSync } from 'node:fs';
import { PRODUCT } from './contestants.ts';
import { openWorkspace } from './data/workspace.ts';
import { bursts } from './fanout/bursts.ts';
import { filters } from './fanout/filters.ts';
import { memory } from './fanout/memory.ts';
import { aimsTable, type Part, type RunPart } from './fanout/part.ts';
import { query } from './fanout/query.ts';
import { returns } from './fanout/returns.ts';
import { ALONE, BARE, FEW, mostSubscribers, openScene, PRE_FRAMED } from './fanout/scene.ts';
import { selections } from './fanout/selections.ts';
import { steady } from './fanout/steady.ts';
import { withCleanup } from './harness/cleanup.ts';
import { progress, publish } from './report/results.ts';
import { barChart } from './report/svg.ts';
import { versions } from './report/versions.ts';

const PARTS: Readonly<Record<string, RunPart>> = {
  steady,
  bursts,
  memory,
  selections,
  filters,
  query,
  returns,
};

const MANY = [10_000, 8_000];
const CHART = 'fanout.svg';
const SIZE = { users: 1_000, posts: 2_000 };
/** A bar of what does not share would leave the others no length to compare. */
const LONGEST_BARS = 2.5;

/** What follows an option. */
function given(option: string): string | undefined {
  const at = process.argv.indexOf(option);
  return at === -1 ? undefined : (process.argv[at + 1] ?? '');
}

const quick = process.argv.includes('--quick');
const only = given('--only');
const wanted = given('--subscribers');
if (only !== undefined && !Object.hasOwn(PARTS, only)) {
  process.stderr.write(`There is no part "${only}". There are: ${Object.keys(PARTS).join(', ')}.\n`);
  process.exit(2);
}

/** Runs a part with servers of its own, which end with it. */
async function run(cleanup: AsyncDisposableStack, work: (own: AsyncDisposableStack) => Promise<Part>) {
  const own = cleanup.use(new AsyncDisposableStack());
  try {
    return await work(own);
  } finally {
    await own.disposeAsync();
  }
}

function chartOf(parts: readonly Part[]): string {
  const bars = parts.flatMap((part) => part.bars ?? []);
  const shared = bars.filter(({ label }) => label !== ALONE.name).map(({ value }) => value);
  return barChart({
    title: 'Server CPU a delivery, µs (less is better)',
    bars: bars.map(({ group, ...bar }) => ({ ...bar, group: group.replaceAll('`', '') })),
    unit: 'µs',
    longest: LONGEST_BARS * Math.max(...shared),
  });
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const many = quick ? FEW : mostSubscribers(wanted === undefined ? MANY : [Number(wanted)]);
  const scene = await openScene(cleanup, { workspace, quick, many });
  const parts: Part[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    if (only !== undefined && name !== only) continue;
    progress(name);
    parts.push(await run(cleanup, (own) => part(scene, own)));
  }
  const aims = aimsTable(parts.flatMap((part) => part.aims));
  if (only !== undefined) {
    const [text, aimed] = [parts.map((part) => part.text), parts.some((part) => part.aims.length > 0)];
    process.stdout.write(`${[...text, ...(aimed ? [aims] : [])].join('\n\n')}\n`);
    return;
  }
  const text = [
    `\`subscription { postCreated { … } }\`, ${SIZE.users.toLocaleString('en')} users, up to ${scene.many.toLocaleString('en')} subscribers on loopback in a process of their own, which reads raw sockets.`,
    [BARE, PRE_FRAMED, PRODUCT, ALONE].map(({ name, note }) => `- **${name}**: ${note}`).join('\n'),
    `![Server CPU a delivery](${CHART})`,
    aims,
    ...parts.map((part) => part.text),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ].join('\n\n');
  const forALook = quick || wanted !== undefined;
  publish('Fan-out', text, forALook);
  if (!forALook) writeFileSync(new URL(CHART, import.meta.url), chartOf(parts));
});
