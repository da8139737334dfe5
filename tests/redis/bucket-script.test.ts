import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisBuckets } from '../../src/http/rate-limit/redis-store.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { policies, steps } from '../support/bucket-model.ts';
import { until } from '../support/process.ts';

const url = process.env.REDIS_URL ?? '';
const logged: string[] = [];
const log = createLogger({
  level: 'debug',
  pretty: false,
  destination: { write: (line) => void logged.push(line) },
});
const buckets = redisBuckets({ url, clock: systemClock, log, metrics: createMetrics() });
const redis = new Redis(url);
beforeAll(() =>
  until('the connection', async () => {
    const name = `test:${randomUUID()}`;
    await buckets.take(name, { burst: 1, perSecond: 1 });
    const shared = (await redis.exists(`content-graph:bucket:${name}`)) === 1;
    if (shared) logged.length = 0;
    return shared;
  }),
);
afterAll(async () => {
  await buckets.close();
  redis.disconnect();
});

/** What the bucket can hold, since only Redis knows its time: at least `low` tokens and at most `high`. */
interface Range {
  low: number;
  high: number;
}

/** The clocks of Redis and of this process are those of machines that agree within this. */
const SKEW_MS = 2;

describe('the script of the bucket', () => {
  it('allows what the model does, as far as time can tell', async () => {
    await fc.assert(
      fc.asyncProperty(policies, steps(0), async (policy, sequence) => {
        const name = `test:${randomUUID()}`;
        const range: Range = { low: policy.burst, high: policy.burst };
        let lastBeforeMs = performance.now();
        let lastAfterMs = lastBeforeMs;
        for (const { kind } of sequence) {
          const beforeMs = performance.now();
          const taken = kind === 'take' ? await buckets.take(name, policy) : undefined;
          if (kind === 'give-back') await buckets.giveBack(name, policy);
          const afterMs = performance.now();
          const flown = (ms: number) => (Math.max(0, ms) * policy.perSecond) / 1000;
          range.low = Math.min(policy.burst, range.low + flown(beforeMs - lastAfterMs - SKEW_MS));
          range.high = Math.min(policy.burst, range.high + flown(afterMs - lastBeforeMs + SKEW_MS));
          [lastBeforeMs, lastAfterMs] = [beforeMs, afterMs];
          if (taken === undefined) {
            range.low = Math.min(policy.burst, range.low + 1);
            range.high = Math.min(policy.burst, range.high + 1);
            continue;
          }
          if (range.low >= 1 + 1e-6) expect(taken.allowed).toBe(true);
          if (range.high < 1 - 1e-6) expect(taken.allowed).toBe(false);
          if (taken.allowed) {
            range.low = Math.max(range.low, 1) - 1;
            range.high -= 1;
          } else range.high = Math.min(range.high, 1);
          expect(taken.remaining).toBeGreaterThanOrEqual(Math.floor(range.low - 1e-6));
          expect(taken.remaining).toBeLessThanOrEqual(Math.floor(range.high + 1e-6));
        }
      }),
      { numRuns: 30 },
    );
    expect(logged).toEqual([]);
  });

  it('leaves nothing behind once the bucket is full again', async () => {
    const name = `test:${randomUUID()}`;
    const policy = { burst: 10, perSecond: 1_000 };
    await buckets.take(name, policy);
    const key = `content-graph:bucket:${name}`;
    const leftMs = await redis.pttl(key);
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(1_001);
    await expect.poll(() => redis.exists(key), { timeout: 5_000 }).toBe(0);
    expect((await buckets.take(name, policy)).remaining).toBe(9);
  });

  it('survives a Redis that has forgotten its scripts', async () => {
    const name = `test:${randomUUID()}`;
    const policy = { burst: 5, perSecond: 0.001 };
    await buckets.take(name, policy);
    await redis.script('FLUSH');
    expect((await buckets.take(name, policy)).remaining).toBe(3);
  });
});
