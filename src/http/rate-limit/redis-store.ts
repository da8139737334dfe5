import { Redis } from 'ioredis';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { type BucketStore, memoryBuckets } from './store.ts';
import { type BucketPolicy, describe, type Taken } from './token-bucket.ts';

/** Redis may take this long before the request goes on without it. */
const COMMAND_TIMEOUT_MS = 100;
/** After a failure Redis is left alone for this long, so that an outage does not cost every request the timeout. */
const BACK_OFF_MS = 1_000;
const SILENCE_MS = 3_000;
const PREFIX = 'content-graph:bucket:';

/**
 * token-bucket.ts as one atomic script on Redis' own clock, so that all instances share one bucket exactly. Numbers
 * go back as text: Redis cuts Lua's to integers. The key ends when the bucket is full, which is what no key means.
 * KEYS[1] bucket; ARGV burst, tokens a second, tokens to take (1) or give back (-1).
 */
const SCRIPT = `
local burst, rate, n = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local at = tonumber(bucket[2]) or now
local tokens = math.min(burst, (tonumber(bucket[1]) or burst) + math.max(0, now - at) * rate / 1000)
local allowed = tokens >= n
if allowed then tokens = math.min(burst, tokens - n) end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens), 'at', string.format('%.3f', math.max(now, at)))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - tokens) / rate * 1000) + 1000)
return { allowed and 1 or 0, string.format('%.9f', tokens) }`;

interface Scripted {
  tokenBucket(key: string, burst: number, perSecond: number, tokens: number): Promise<[number, string]>;
}

/** Rejects where the answer is not there in time. One that came in while this process was busy is in time. */
function inTime<T>(answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no answer within ${COMMAND_TIMEOUT_MS} ms`));
    // Sockets are read between a timer and an immediate.
    const timer = setTimeout(() => setImmediate(late), COMMAND_TIMEOUT_MS);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export interface RedisBucketsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Buckets shared through Redis. Where Redis does not answer in time the service goes on with buckets of its own, says
 * so once in its log and all the while in its metrics, and comes back to Redis by itself.
 */
export function redisBuckets({ url, clock, log, metrics }: RedisBucketsOptions): BucketStore {
  const own = memoryBuckets(clock);
  const redis = new Redis(url, {
    connectTimeout: 2_000,
    // A connection that has gone silent is given up: TCP itself would try for a quarter of an hour.
    socketTimeout: SILENCE_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, BACK_OFF_MS),
  });
  redis.defineCommand('tokenBucket', { numberOfKeys: 1, lua: SCRIPT });
  const scripted = redis as unknown as Scripted;
  let down = false;
  let retryAtMs = 0;
  metrics.gauge(
    'rate_limit_redis_up',
    'Whether buckets are shared through Redis (1) or the instance uses its own (0).',
    () => (down ? 0 : 1),
  );

  function failed(error: unknown): void {
    retryAtMs = performance.now() + BACK_OFF_MS;
    if (down) return;
    down = true;
    log.error({ err: error }, 'Redis does not answer: rate limits are this instance’s own until it does');
  }
  redis.on('error', failed);

  async function run(
    name: string,
    { burst, perSecond }: BucketPolicy,
    tokens: number,
  ): Promise<[number, string] | undefined> {
    if (down && (performance.now() < retryAtMs || redis.status !== 'ready')) return undefined;
    try {
      const result = await inTime(scripted.tokenBucket(PREFIX + name, burst, perSecond, tokens));
      if (down) log.info('Redis answers again: rate limits are shared');
      down = false;
      return result;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  return {
    async take(name, policy): Promise<Taken> {
      const result = await run(name, policy, 1);
      return result === undefined
        ? own.take(name, policy)
        : describe(result[0] === 1, Number(result[1]), policy);
    },
    async giveBack(name, policy) {
      if ((await run(name, policy, -1)) === undefined) await own.giveBack(name, policy);
    },
    async close() {
      redis.disconnect();
    },
  };
}
