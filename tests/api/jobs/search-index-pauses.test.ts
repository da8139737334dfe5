import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createIndexer } from '../../support/search.ts';

const app = useApp();
const STEP_MS = 300;

it('The search index leaves requests at least as much time as it takes, however many commits it hears of', async () => {
  const pauses: number[] = [];
  let endMs: number | undefined;
  const enough = Promise.withResolvers<void>();
  const indexer = createIndexer(app, {
    async isElected() {
      if (endMs !== undefined) pauses.push(performance.now() - endMs);
      if (pauses.length === 2) enough.resolve();
      await delay(STEP_MS);
      endMs = performance.now();
      return true;
    },
  });
  onTestFinished(() => indexer.close());
  const commits = setInterval(() => indexer.wake(), 1);
  onTestFinished(() => clearInterval(commits));
  indexer.start();
  await enough.promise;
  // Timers may be a millisecond early.
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(STEP_MS - 2);
});
