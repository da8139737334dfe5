import { setImmediate as nextLoopIteration } from 'node:timers/promises';
import { type ClientContext, Redis, type Result } from 'ioredis';
import { batchReads } from '../../platform/async.ts';
import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { type Bucket, type BucketStore, describe, memoryBuckets } from './bucket-store.ts';

/** The request continues without Redis after this time. */
const COMMAND_TIMEOUT_MS = 100;
/** Redis is not used for this long after a failure. Otherwise an outage would cost every request the timeout. */
const BACK_OFF_MS = 1_000;
const SILENCE_MS = 3_000;
/** One script changes buckets of many accounts. The part in braces has a Redis cluster store all keys on one server. */
const PREFIX = '{content-graph:bucket}:';

/**
 * The script does what bucket-store.ts does, atomically and on the clock of Redis, so that all instances share one
 * bucket. Changes of one call have the result that they have one after the other. A key expires when its bucket is
 * full, since a missing key means a full bucket. A timestamp in the future, after a clock change or a failover, makes
 * the bucket refill from now on.
 * KEYS are the buckets of all changes, in order. ARGV[1] is JSON: for each change, the tokens to take from each bucket
 * (1) or to return (-1), then burst and tokens per second of each bucket. The reply is JSON, because Redis truncates
 * Lua numbers to integers.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local known, results, k = {}, {}, 0
for r, change in ipairs(cjson.decode(ARGV[1])) do
  local n, buckets, missing, allowed = change[1], {}, {}, true
  for i = 1, (#change - 1) / 2 do
    local burst, rate = change[2 * i], change[2 * i + 1]
    k = k + 1
    local bucket = known[KEYS[k]]
    if not bucket then
      local stored = redis.call('HMGET', KEYS[k], 'missing', 'at')
      bucket = { missing = tonumber(stored[1]) or 0, at = tonumber(stored[2]) or now }
      known[KEYS[k]] = bucket
    end
    if bucket.at > now then bucket.at, bucket.rate = now, rate end
    buckets[i] = bucket
    missing[i] = math.max(0, bucket.missing - (now - bucket.at) * rate / 1000)
    allowed = allowed and (n < 0 or burst - missing[i] >= n)
  end
  if allowed then
    for i, bucket in ipairs(buckets) do
      missing[i] = math.max(0, missing[i] + n)
      bucket.missing, bucket.at, bucket.rate = missing[i], now, change[2 * i + 1]
    end
  end
  results[r] = { allowed, unpack(missing) }
end
for key, bucket in pairs(known) do
  -- Only a changed bucket has a rate.
  if bucket.rate then
    redis.call('HSET', key, 'missing', string.format('%.9f', bucket.missing), 'at', string.format('%.3f', now))
    redis.call('PEXPIRE', key, math.ceil(bucket.missing / bucket.rate * 1000) + 1000)
  end
end
return cjson.encode(results)`;

interface BucketChange {
  readonly tokens: 1 | -1;
  readonly own: Bucket;
  readonly shared: Bucket | undefined;
}

type ChangeResult = readonly [allowed: boolean, missing: number, sharedMissing?: number];

declare module 'ioredis' {
  interface RedisCommander<Context extends ClientContext> {
    changeBuckets(keyCount: number, ...keysAndChanges: readonly string[]): Result<string, Context>;
  }
}

const bucketsOf = ({ own, shared }: BucketChange) => (shared === undefined ? [own] : [own, shared]);

/** A reply that arrived while this process was busy is in time. */
function inTime<T>(reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no reply within ${COMMAND_TIMEOUT_MS} ms`));
    // The event loop reads sockets between timers and immediates.
    const timer = setTimeout(() => setImmediate(late), COMMAND_TIMEOUT_MS);
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Node's error for several IP addresses has no message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}

interface RedisBucketsOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/**
 * Without a timely reply of Redis, the service uses buckets in memory. The service logs the outage ever more rarely,
 * reports it in the metrics, and returns to Redis automatically.
 */
export function redisBuckets({ url, clock, log, metrics }: RedisBucketsOptions): BucketStore {
  const memory = memoryBuckets(clock);
  const redis = new Redis(url, {
    connectTimeout: 2_000,
    // TCP itself would keep a silent connection for a quarter of an hour.
    socketTimeout: SILENCE_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, BACK_OFF_MS),
  });
  redis.defineCommand('changeBuckets', { lua: SCRIPT });
  const outage = createOutageReporter(log, 'redis.unavailable', 'redis.recovered');
  let retryAtMs = 0;
  metrics.gauge(
    'content_graph_rate_limit_redis_up',
    'Whether rate limits are shared through Redis (1) or local (0).',
    () => (outage.lasting ? 0 : 1),
  );

  function failed(error: unknown): void {
    retryAtMs = performance.now() + BACK_OFF_MS;
    outage.failed({
      setting: 'REDIS_URL',
      reason: reasonOf(error),
      hint: 'check that Redis is running and that the address and the password are right',
    });
  }
  redis.on('error', failed);
  // `ready` means that Redis has replied to the library's first command.
  redis.on('ready', outage.over);

  const isUsable = () => !outage.lasting || (performance.now() >= retryAtMs && redis.status === 'ready');

  /** One call of Redis at a time has all changes of an iteration of the event loop, because calls are expensive. */
  const change = batchReads<BucketChange, ChangeResult | undefined>(
    async (changes) => {
      if (isUsable())
        try {
          const results = await inTime(callScript(changes));
          outage.over();
          return results;
        } catch (error) {
          failed(error);
        }
      return changes.map(() => undefined);
    },
    { maxRunning: 1, pause: nextLoopIteration },
  );

  async function callScript(changes: readonly BucketChange[]): Promise<readonly ChangeResult[]> {
    const keys = changes.flatMap((each) => bucketsOf(each).map(({ name }) => PREFIX + name));
    const amounts = changes.map((each) => [
      each.tokens,
      ...bucketsOf(each).flatMap(({ policy: { burst, perSecond } }) => [burst, perSecond]),
    ]);
    return JSON.parse(await redis.changeBuckets(keys.length, ...keys, JSON.stringify(amounts)));
  }

  return {
    async take(own, shared) {
      const result = await change({ tokens: 1, own, shared });
      if (result === undefined) return memory.take(own, shared);
      const [allowed, missing, sharedMissing = 0] = result;
      return describe(
        allowed,
        { policy: own.policy, missing },
        shared && { policy: shared.policy, missing: sharedMissing },
      );
    },
    async giveBack(own, shared) {
      const result = await change({ tokens: -1, own, shared });
      if (result === undefined) await memory.giveBack(own, shared);
    },
    async close() {
      redis.disconnect();
    },
  };
}

/** All instances share the buckets if the settings name a Redis. Otherwise each process has separate buckets. */
export const createBuckets = (
  { redisUrl }: Pick<Config, 'redisUrl'>,
  services: Omit<RedisBucketsOptions, 'url'>,
): BucketStore =>
  redisUrl === undefined ? memoryBuckets(services.clock) : redisBuckets({ url: redisUrl, ...services });
