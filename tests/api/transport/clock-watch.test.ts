import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { readMetric } from '../../support/metrics.ts';

const MESSAGE = 'clock.skewed';

describe('A clock that is', () => {
  describe.each([
    ['ahead', 7_200],
    ['behind', -7_200],
  ])('%s of the database’s', (_what, seconds) => {
    const app = useApp({
      clock: { now: () => Date.now() + seconds * 1_000, elapsedMs: () => performance.now() },
    });
    it('is told with the difference, in the log and by a metric', async () => {
      await expect.poll(() => linesOf(app.logged, MESSAGE)).toMatchObject([{ level: WARN }]);
      const [line] = linesOf(app.logged, MESSAGE);
      for (const told of [line?.offsetSeconds, await readMetric(app, 'content_graph_clock_offset_seconds')]) {
        expect(Number(told)).toBeGreaterThan(seconds - 60);
        expect(Number(told)).toBeLessThan(seconds + 60);
      }
    });
  });

  describe('right', () => {
    const app = useApp();
    it('is not told', async () => {
      await expect.poll(() => readMetric(app, 'content_graph_clock_offset_seconds')).not.toBeNaN();
      expect(linesOf(app.logged, MESSAGE)).toEqual([]);
    });
  });
});
