import { expect, it } from 'vitest';
import { coalesceRuns } from '../../../src/platform/async.ts';

it('runs once more after a run, however often a run was requested meanwhile', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const run = coalesceRuns(() => {
    const started = Promise.withResolvers<void>();
    runs.push(started);
    return started.promise;
  });
  const all = [run(), run(), run()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve();
  await expect.poll(() => runs.length).toBe(2);
  runs[1]?.reject(new Error('failed'));
  for (const one of all) await expect(one).rejects.toThrow('failed');
  const next = run();
  runs[2]?.resolve();
  await next;
  expect(runs).toHaveLength(3);
});
