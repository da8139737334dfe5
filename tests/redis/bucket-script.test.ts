import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BucketPolicy } from '../../src/http/rate-limit/bucket-store.ts';
import { redisBuckets } from '../../src/http/rate-limit/redis-bucket-store.ts';
import { systemClock } from '../../src/platform/deadline.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';
import { policies, sharings, steps } from '../support/bucket-model.ts';
import { until } from '../support/processes/process.ts';
import { holdTimers } from '../support/time/timers.ts';

const url = process.env.REDIS_URL ?? '';
const log = createLogger({ level: 'silent', pretty: false });
const buckets = redisBuckets({ url, clock: systemClock, log, metrics: createMetrics() });
const redis = new Redis(url);
const COMMAND_LIMIT_MS = 100;
let release = () => {};
beforeAll(async () => {
  await until('the connection', async () => {
    const name = `test:${randomUUID()}`;
    await buckets.take({ name, policy: { burst: 1, perSecond: 1 } });
    return (await redis.exists(`content-graph:bucket:${name}`)) === 1;
  });
  // A machine that is slower than the limit for a response of Redis does not make the process decide by itself.
  ({ release } = holdTimers(COMMAND_LIMIT_MS));
});
afterAll(async () => {
  release();
  await buckets.close();
  redis.disconnect();
});

const RUNS = 30;

/** The clocks of Redis and of this process are those of machines that agree within this. */
const SKEW_MS = 2;
const EPSILON = 1e-6;

/** What a bucket can hold, since only Redis knows its time: at least `low` tokens and at most `high`. */
class Range {
  readonly #policy: BucketPolicy;
  low: number;
  high: number;

  constructor(policy: BucketPolicy) {
    this.#policy = policy;
    this.low = policy.burst;
    this.high = policy.burst;
  }

  pass(leastMs: number, mostMs: number): void {
    const { burst, perSecond } = this.#policy;
    const flown = (ms: number) => (Math.max(0, ms) * perSecond) / 1000;
    this.low = Math.min(burst, this.low + flown(leastMs));
    this.high = Math.min(burst, this.high + flown(mostMs));
  }

  giveBack(): void {
    this.low = Math.min(this.#policy.burst, this.low + 1);
    this.high = Math.min(this.#policy.burst, this.high + 1);
  }

  taken(): void {
    this.low = Math.max(this.low, 1) - 1;
    this.high -= 1;
  }
}

/** Tells how much time passes between calls. */
class Stopwatch {
  #before = performance.now();
  #after = this.#before;

  /** The least and the most that can have passed for Redis between the last call and this one. */
  async around<T>(call: () => Promise<T>): Promise<{ result: T; leastMs: number; mostMs: number }> {
    const before = performance.now();
    const result = await call();
    const after = performance.now();
    const leastMs = before - this.#after - SKEW_MS;
    const mostMs = after - this.#before + SKEW_MS;
    [this.#before, this.#after] = [before, after];
    return { result, leastMs, mostMs };
  }
}

describe('the script of the bucket', () => {
  it('allows what the model does, as far as time can tell', async () => {
    await fc.assert(
      fc.asyncProperty(policies, steps(0), async (policy, sequence) => {
        const bucket = { name: `test:${randomUUID()}`, policy };
        const range = new Range(policy);
        const watch = new Stopwatch();
        for (const { kind } of sequence) {
          const { result, leastMs, mostMs } = await watch.around(async () =>
            kind === 'take' ? buckets.take(bucket) : void (await buckets.giveBack(bucket)),
          );
          range.pass(leastMs, mostMs);
          if (result === undefined) {
            range.giveBack();
            continue;
          }
          if (range.low >= 1 + EPSILON) expect(result.allowed).toBe(true);
          if (range.high < 1 - EPSILON) expect(result.allowed).toBe(false);
          if (result.allowed) range.taken();
          else range.high = Math.min(range.high, 1);
          expect(result.remaining).toBeGreaterThanOrEqual(Math.floor(range.low - EPSILON));
          expect(result.remaining).toBeLessThanOrEqual(Math.floor(range.high + EPSILON));
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('takes from both of two buckets or from neither, as the model does', async () => {
    await fc.assert(
      fc.asyncProperty(sharings, steps(0), async ({ own, shared }, sequence) => {
        const id = randomUUID();
        const sharedRange = new Range(shared);
        const ranges = own.map((policy) => new Range(policy));
        const watch = new Stopwatch();
        for (const { client, kind } of sequence) {
          const group = `test:${id}`;
          const both = [
            { name: `client ${client}`, policy: own[client] ?? shared, group },
            { name: 'account', policy: shared, group },
          ] as const;
          const range = ranges[client] ?? sharedRange;
          const { result, leastMs, mostMs } = await watch.around(async () =>
            kind === 'take' ? buckets.take(...both) : void (await buckets.giveBack(...both)),
          );
          for (const each of [...ranges, sharedRange]) each.pass(leastMs, mostMs);
          if (result === undefined) {
            for (const each of [range, sharedRange]) each.giveBack();
            continue;
          }
          const low = Math.min(range.low, sharedRange.low);
          const high = Math.min(range.high, sharedRange.high);
          if (low >= 1 + EPSILON) expect(result.allowed).toBe(true);
          if (high < 1 - EPSILON) expect(result.allowed).toBe(false);
          if (result.allowed) {
            range.taken();
            sharedRange.taken();
          }
          expect(result.remaining).toBeGreaterThanOrEqual(
            Math.max(0, Math.floor(Math.min(range.low, sharedRange.low) - EPSILON)),
          );
          expect(result.remaining).toBeLessThanOrEqual(
            Math.floor(Math.min(range.high, sharedRange.high) + EPSILON),
          );
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('keeps the buckets of an account on one server of a cluster', async () => {
    const group = `test:${randomUUID()}`;
    const policy = { burst: 10, perSecond: 0.001 };
    await buckets.take({ name: 'client', policy, group }, { name: 'account', policy, group });
    const keys = (await redis.keys('content-graph:bucket:*')).filter((key) => key.includes(group));
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(/\{([^}]*)\}/.exec(key)?.[1]).toBe(group);
  });

  it.each([3_600_000, 1])('refills from now on a bucket that is stamped %i ms ahead', async (aheadMs) => {
    const name = `test:${randomUUID()}`;
    const allows = async (perSecond: number) =>
      (await buckets.take({ name, policy: { burst: 2, perSecond } })).allowed;
    const key = `content-graph:bucket:${name}`;
    await redis.hset(key, { missing: '2', at: String(Date.now() + aheadMs) });
    // At this rate, no token comes during the test.
    expect(await allows(0.001)).toBe(false);
    await expect.poll(() => allows(20)).toBe(true);
    expect(Number(await redis.hget(key, 'at'))).toBeLessThan(Date.now() + 1_000);
  });

  it('leaves nothing behind once the bucket is full again', async () => {
    const bucketOf = (perSecond: number) => {
      const name = `test:${randomUUID()}`;
      return { bucket: { name, policy: { burst: 10, perSecond } }, key: `content-graph:bucket:${name}` };
    };
    const [slow, quick] = [bucketOf(0.001), bucketOf(1_000)];
    await buckets.take(slow.bucket);
    const leftMs = await redis.pttl(slow.key);
    expect(leftMs).toBeGreaterThan(100_000);
    expect(leftMs).toBeLessThanOrEqual(1_001_000);
    await buckets.take(quick.bucket);
    await expect.poll(() => redis.exists(quick.key)).toBe(0);
    expect((await buckets.take(quick.bucket)).remaining).toBe(9);
  });

  it('survives a Redis that has forgotten its scripts', async () => {
    const bucket = { name: `test:${randomUUID()}`, policy: { burst: 5, perSecond: 0.001 } };
    await buckets.take(bucket);
    await redis.script('FLUSH');
    expect((await buckets.take(bucket)).remaining).toBe(3);
  });
});
