import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { provideDatabase } from './own-database.ts';
import { runSequences } from './run.ts';

const DEFAULT_SECONDS = 60;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string' }, count: { type: 'string' }, seed: { type: 'string' } },
  });
  const seed = values.seed === undefined ? randomInt(2 ** 30) : Number(values.seed);
  const count = values.count === undefined ? undefined : Number(values.count);
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds);
  if ([seed, count ?? 1, seconds ?? 1].some((number) => !Number.isFinite(number) || number < 0)) {
    process.stderr.write('Options: --seconds N or --count N, and --seed N.\n');
    return 2;
  }
  const { place, drop } = await provideDatabase();
  const startMs = performance.now();
  try {
    const { sequences, moves, answers, failure } = await runSequences({
      seed,
      database: place,
      ...(count === undefined ? { seconds: seconds ?? DEFAULT_SECONDS } : { count }),
    });
    const took = Math.round((performance.now() - startMs) / 1_000);
    process.stdout.write(`seed ${seed}: ${sequences} sequences in ${took} s\n`);
    for (const counts of [moves, answers])
      for (const [what, number] of Object.entries(counts).sort(([, a], [, b]) => b - a))
        process.stdout.write(`${String(number).padStart(8)} ${what}\n`);
    if (failure !== undefined) process.stdout.write(`${failure}\n`);
    return failure === undefined ? 0 : 1;
  } finally {
    await drop();
  }
}

process.exit(await main());
