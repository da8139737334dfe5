/**
 * Looks for the mix of requests of one account, within its limits, that hurts an ordinary client of another account
 * most (`adversary [--minutes 10] [--worst 3] [--embedded]`). `adversary --kept` makes the worst that were found, and fails if the
 * ordinary client is rejected anything or the memory goes beyond its bound. `adversary --mix "a + b"` makes one mix or, repeated, several.
 */
import { KEPT } from './adversary/kept.ts';
import { moveOf, NAMES } from './adversary/moves.ts';
import { badness, counts, HEADER, MOST_BYTES, row } from './adversary/score.ts';
import { pin, startScene } from './adversary/service.ts';
import { createTrials, type Mix, medians, type Outcome } from './adversary/trial.ts';
import { withCleanup } from './harness/cleanup.ts';
import { generator, pick } from './harness/random.ts';
import { startServer } from './harness/server-process.ts';
import { megabytes, table } from './report/markdown.ts';
import { progress, publish } from './report/results.ts';

const option = (name: string) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const quick = process.argv.includes('--quick');
const kept = process.argv.includes('--kept');
const embedded = process.argv.includes('--embedded');
const minutes = Number(option('minutes') ?? 10);
const given = process.argv.flatMap((value, at) =>
  process.argv[at - 1] === '--mix' ? [value.split(' + ')] : [],
);
const TRIAL_MS = Number(option('trial') ?? (kept ? 3_000 : 6_000));
const RUNS = 5;
/** At 25 requests a second the five runs have 5,000 samples. */
const RUN_MS = quick ? TRIAL_MS : 42_000;
const WORST = Number(option('worst') ?? 3);
/** One that hangs takes longer: the start, the worst ones, and what trials take beyond their time. */
const LIMIT_MS = kept ? 20 * 60_000 : (1.5 * minutes + 60) * 60_000;

type Against = (mix: Mix, durationMs?: number) => Promise<Outcome>;

const told = (mix: Mix, outcome: Outcome) =>
  `${row(mix.join(' + '), outcome).join(' | ')} (answers: ${counts(outcome.responses)})`;

/** What must not happen, however slow the machine is. */
function problemsOf(mix: Mix, { rejected, peakBytes }: Outcome): string[] {
  const name = mix.join(' + ');
  const problems: string[] = [];
  if (Object.keys(rejected).length > 0)
    problems.push(`${name}: an ordinary client was refused something (${counts(rejected)})`);
  if (peakBytes > MOST_BYTES)
    problems.push(`${name}: ${megabytes(peakBytes)} of memory, with ${megabytes(MOST_BYTES)} allowed`);
  return problems;
}

/** Makes mixes that are known. One with a problem is made once more: a machine that stands still for seconds fails nobody. */
async function makeKnown(
  mixes: readonly Mix[],
  against: Against,
  alive: () => boolean,
  elsewhere?: Against,
): Promise<void> {
  const rows: string[][] = [];
  const problems: string[] = [];
  const make = async (mix: Mix): Promise<Outcome> => {
    const outcome = await against(mix).catch((error: unknown) => {
      if (!alive()) throw new Error(`the service died of ${mix.join(' + ')}`, { cause: error });
      throw error;
    });
    progress(told(mix, outcome));
    rows.push(row(mix.join(' + '), outcome, await elsewhere?.(mix)));
    return outcome;
  };
  for (const mix of mixes) {
    const first = problemsOf(mix, await make(mix));
    if (first.length > 0) problems.push(...problemsOf(mix, await make(mix)));
  }
  process.stdout.write(`${table(HEADER, rows)}\n`);
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

interface Tried {
  readonly mix: Mix;
  readonly bad: number;
}

/** First each move by itself, then the worst with something more. The worst come first. */
async function search(against: Against, alone: Outcome): Promise<Tried[]> {
  const draw = generator(Number(option('seed') ?? 1));
  const tried = new Map<string, Tried>();
  const worst = () => [...tried.values()].toSorted((a, b) => b.bad - a.bad);
  const endMs = performance.now() + minutes * 60_000;
  const queue: Mix[] = NAMES.map((name) => [name]);
  while (performance.now() < endMs) {
    const base = queue.shift() ?? [...(worst()[draw(4)]?.mix ?? []), pick(draw, NAMES)].slice(-3);
    const mix = [...new Set(base)].toSorted();
    if (tried.has(mix.join())) {
      if (queue.length === 0 && draw(3) === 0) queue.push([pick(draw, NAMES), pick(draw, NAMES)]);
      continue;
    }
    const outcome = await against(mix);
    const bad = badness(outcome, alone);
    tried.set(mix.join(), { mix, bad });
    progress(`${bad.toFixed(1)}: ${told(mix, outcome)}`);
  }
  return worst();
}

await withCleanup(async (cleanup) => {
  for (const name of [...KEPT.flat(), ...given.flat()]) moveOf(name);
  const scene = await startScene(cleanup, embedded);
  const { service } = scene;
  const nothing = await startServer({ file: 'nothing.ts', env: {} });
  cleanup.defer(() => nothing.stop());
  pin(service.pid, 0);
  pin(process.pid, 1);
  pin(nothing.pid, 1);
  const trial = createTrials(scene);
  const against: Against = (mix, durationMs = TRIAL_MS) => trial({ mix, durationMs, port: service.port });
  const elsewhere: Against = (mix, durationMs = TRIAL_MS) => trial({ mix, durationMs, port: nothing.port });
  const alive = () => {
    try {
      return process.kill(service.pid, 0);
    } catch {
      return false;
    }
  };
  const alone = await against([]);
  progress(told(['nobody'], alone));
  if (given.length > 0) return makeKnown(given, against, alive, elsewhere);
  if (kept) return makeKnown(KEPT, against, alive);

  const tried = await search(against, alone);
  const rows: string[][] = [row('nobody', alone)];
  for (const { mix } of tried.slice(0, WORST)) {
    const all: Outcome[] = [];
    const besides: Outcome[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      besides.push(await elsewhere(mix, RUN_MS));
      all.push(await against(mix, RUN_MS));
    }
    const beside = medians(besides);
    rows.push(row(mix.join(' + '), medians(all), beside), row('… sent to nobody', beside));
  }
  const about = `${tried.length} mixes of ${NAMES.length} kinds of requests of one account (four keys, a session, 40 streams, an OAuth client) and of somebody without credentials, within their limits, ${TRIAL_MS / 1000} s each, and the ${WORST === 1 ? 'worst' : `${WORST} worst`} of them, median of ${RUNS} runs of ${RUN_MS / 1000} s; 99th percentiles in ms of an ordinary client of another account (${embedded ? 'embedded database' : 'PostgreSQL'}), beside the same requests sent to a server that does nothing, and how many times as long reads and writes take. The memory of the service at its peak, and by how much the database grew. The service on one core, the load on the other, with the heap that V8 chooses in a container of 1 GiB.`;
  publish(
    embedded ? 'Adversary, embedded database' : 'Adversary',
    [about, table(HEADER, rows)].join('\n\n'),
    quick,
  );
}, LIMIT_MS);
