import { randomInt } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { provideDatabase } from '../fuzz/sequences/own-database.ts';
import { runSequences } from '../fuzz/sequences/run.ts';

const SECONDS = 20;

it.each([['their own'], ['shared through Redis']])(
  'two instances keep the contract while the network between them and their servers fails (buckets: %s)',
  async (buckets) => {
    const { place, drop } = await provideDatabase();
    onTestFinished(drop);
    const { REDIS_URL: redis, ...database } = place;
    const shared = buckets !== 'their own' && redis !== undefined ? { REDIS_URL: redis } : {};
    const seed = randomInt(2 ** 30);
    const { sequences, moves, failure } = await runSequences({
      seconds: SECONDS,
      seed,
      database: { ...database, ...shared },
    });
    process.stdout.write(`seed ${seed}: ${sequences} sequences, ${JSON.stringify(moves)}\n`);
    expect(failure).toBeUndefined();
  },
);
