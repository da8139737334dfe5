import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Bucket, BucketPolicy, Taken } from '../../src/http/rate-limit/bucket-store.ts';
import { redisBuckets } from '../../src/http/rate-limit/redis-bucket-store.ts';
import { systemClock } from '../../src/platform/deadline.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';
import { policies, type Step, sharings, steps } from '../support/bucket-model.ts';
import { until } from '../support/processes/process.ts';
import { holdTimers } from '../support/time/timers.ts';

const url = process.env.REDIS_URL ?? '';
const log = createLogger({ level: 'silent', pretty: false });
const buckets = redisBuckets({ url, clock: systemClock, log, metrics: createMetrics() });
const redis = new Redis(url);
const COMMAND_LIMIT_MS = 100;
const keyOf = (name: string) => `{content-graph:bucket}:${name}`;
let release = () => {};
beforeAll(async () => {
  await until('the connection', async () => {
    const name = `test:${randomUUID()}`;
    await buckets.take({ name, policy: { burst: 1, perSecond: 1 } });
    return (await redis.exists(keyOf(name))) === 1;
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

/** Steps that are made at the same time, which Redis is told of in one call. */
const groups: fc.Arbitrary<Step[][]> = fc
  .tuple(steps(0), fc.integer({ min: 1, max: 8 }))
  .map(([all, size]) =>
    Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
      all.slice(index * size, (index + 1) * size),
    ),
  );

async function make(kind: Step['kind'], ...given: readonly [Bucket, Bucket?]): Promise<Taken | undefined> {
  if (kind === 'take') return buckets.take(...given);
  await buckets.giveBack(...given);
  return undefined;
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
      fc.asyncProperty(policies, groups, async (policy, sequence) => {
        const bucket = { name: `test:${randomUUID()}`, policy };
        const range = new Range(policy);
        const watch = new Stopwatch();
        for (const group of sequence) {
          const { result, leastMs, mostMs } = await watch.around(() =>
            Promise.all(group.map(({ kind }) => make(kind, bucket))),
          );
          range.pass(leastMs, mostMs);
          for (const taken of result) {
            if (taken === undefined) {
              range.giveBack();
              continue;
            }
            if (range.low >= 1 + EPSILON) expect(taken.allowed).toBe(true);
            if (range.high < 1 - EPSILON) expect(taken.allowed).toBe(false);
            if (taken.allowed) range.taken();
            else range.high = Math.min(range.high, 1);
            expect(taken.remaining).toBeGreaterThanOrEqual(Math.floor(range.low - EPSILON));
            expect(taken.remaining).toBeLessThanOrEqual(Math.floor(range.high + EPSILON));
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('takes from both of two buckets or from neither, as the model does', async () => {
    await fc.assert(
      fc.asyncProperty(sharings, groups, async ({ own, shared }, sequence) => {
        const id = randomUUID();
        const sharedRange = new Range(shared);
        const ranges = own.map((policy) => new Range(policy));
        const watch = new Stopwatch();
        const bucketsOf = (client: number) =>
          [
            { name: `test:${id}:${client}`, policy: own[client] ?? shared },
            { name: `test:${id}`, policy: shared },
          ] as const;
        for (const group of sequence) {
          const { result, leastMs, mostMs } = await watch.around(() =>
            Promise.all(
              group.map(async ({ client, kind }) => ({
                range: ranges[client] ?? sharedRange,
                taken: await make(kind, ...bucketsOf(client)),
              })),
            ),
          );
          for (const each of [...ranges, sharedRange]) each.pass(leastMs, mostMs);
          for (const { range, taken } of result) {
            if (taken === undefined) {
              for (const each of [range, sharedRange]) each.giveBack();
              continue;
            }
            const low = Math.min(range.low, sharedRange.low);
            const high = Math.min(range.high, sharedRange.high);
            if (low >= 1 + EPSILON) expect(taken.allowed).toBe(true);
            if (high < 1 - EPSILON) expect(taken.allowed).toBe(false);
            if (taken.allowed) {
              range.taken();
              sharedRange.taken();
            }
            expect(taken.remaining).toBeGreaterThanOrEqual(
              Math.max(0, Math.floor(Math.min(range.low, sharedRange.low) - EPSILON)),
            );
            expect(taken.remaining).toBeLessThanOrEqual(
              Math.floor(Math.min(range.high, sharedRange.high) + EPSILON),
            );
          }
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('is called once for all requests of an iteration of the event loop, whichever accounts they are of', async () => {
    const id = randomUUID();
    const policy = { burst: 10, perSecond: 0.001 };
    const monitor = await redis.monitor();
    onTestFinished(() => monitor.disconnect());
    const seen: string[] = [];
    monitor.on('monitor', (_time: string, [command = '', ...args]: string[]) => {
      if (args.some((arg) => arg.includes(id))) seen.push(command.toLowerCase());
    });
    await buckets.take({ name: `test:${id}`, policy });
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        buckets.take({ name: `test:${id}:client ${index}`, policy }, { name: `test:${id}:${index}`, policy }),
      ),
    );
    await redis.echo(id);
    await expect.poll(() => seen.at(-1)).toBe('echo');
    expect(seen.filter((command) => command.startsWith('eval'))).toHaveLength(2);
  });

  it('finds all buckets on one server of a cluster', async () => {
    const id = randomUUID();
    const policy = { burst: 10, perSecond: 0.001 };
    await Promise.all([
      buckets.take({ name: `test:1:${id}`, policy }),
      buckets.take({ name: `test:2:${id}`, policy }),
    ]);
    const keys = (await redis.keys('*content-graph:bucket*')).filter((key) => key.includes(id));
    expect(keys).toHaveLength(2);
    for (const key of keys) expect(/\{([^}]*)\}/.exec(key)?.[1]).toBe('content-graph:bucket');
  });

  it.each([3_600_000, 1])('refills from now on a bucket that is stamped %i ms ahead', async (aheadMs) => {
    const name = `test:${randomUUID()}`;
    const allows = async (perSecond: number) =>
      (await buckets.take({ name, policy: { burst: 2, perSecond } })).allowed;
    const key = keyOf(name);
    await redis.hset(key, { missing: '2', at: String(Date.now() + aheadMs) });
    // At this rate, no token comes during the test.
    expect(await allows(0.001)).toBe(false);
    await expect.poll(() => allows(20)).toBe(true);
    expect(Number(await redis.hget(key, 'at'))).toBeLessThan(Date.now() + 1_000);
  });

  it('leaves nothing behind once the bucket is full again', async () => {
    const bucketOf = (perSecond: number) => {
      const name = `test:${randomUUID()}`;
      return { bucket: { name, policy: { burst: 10, perSecond } }, key: keyOf(name) };
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
