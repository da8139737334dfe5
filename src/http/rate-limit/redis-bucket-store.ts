import { type ClientContext, Redis, type Result } from 'ioredis';
import type { Config } from '../../platform/config/config.ts';
import type { Clock } from '../../platform/deadline.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { type Bucket, type BucketStore, describe, memoryBuckets, type Taken } from './bucket-store.ts';

/** The request continues without Redis after this time. */
const COMMAND_TIMEOUT_MS = 100;
/** Redis is not used for this long after a failure. Otherwise an outage would cost every request the timeout. */
const BACK_OFF_MS = 1_000;
const SILENCE_MS = 3_000;
const PREFIX = 'content-graph:bucket:';

/**
 * The script does what bucket-store.ts does, atomically and on the clock of Redis, so that all instances share one
 * bucket. Numbers are returned as strings, because Redis truncates Lua numbers to integers. A key expires when its
 * bucket is full, since a missing key means a full bucket. A timestamp in the future, after a clock change or a
 * failover, makes the bucket refill from now on.
 * KEYS are the buckets. ARGV has the tokens to take from each bucket (1) or to return (-1), then burst and tokens per
 * second of each bucket.
 */
const SCRIPT = `
local n = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local missing, ahead, allowed = {}, {}, true
for i, key in ipairs(KEYS) do
  local burst, rate = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local bucket = redis.call('HMGET', key, 'missing', 'at')
  local at = tonumber(bucket[2]) or now
  missing[i] = math.max(0, (tonumber(bucket[1]) or 0) - math.max(0, now - at) * rate / 1000)
  ahead[i] = at > now
  allowed = allowed and (n < 0 or burst - missing[i] >= n)
end
local result = { allowed and 1 or 0 }
for i, key in ipairs(KEYS) do
  if allowed then missing[i] = math.max(0, missing[i] + n) end
  result[i + 1] = string.format('%.9f', missing[i])
  if allowed or ahead[i] then
    redis.call('HSET', key, 'missing', result[i + 1], 'at', string.format('%.3f', now))
    redis.call('PEXPIRE', key, math.ceil(missing[i] / tonumber(ARGV[2 * i + 1]) * 1000) + 1000)
  end
end
return result`;

declare module 'ioredis' {
  interface RedisCommander<Context extends ClientContext> {
    tokenBucket(
      keyCount: number,
      ...keysAndArguments: readonly (string | number)[]
    ): Result<[allowed: number, ...missing: string[]], Context>;
  }
}

/** In a cluster, all keys of a script must be on one server, which the part in braces selects. */
const keyOf = ({ name, group }: Bucket): string =>
  group === undefined ? PREFIX + name : `${PREFIX}{${group}}:${name}`;

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
  redis.defineCommand('tokenBucket', { lua: SCRIPT });
  const outage = createOutageReporter(log, 'redis.unavailable', 'redis.recovered');
  let retryAtMs = 0;
  metrics.gauge(
    'content_graph_rate_limit_redis_up',
    'Whether rate limits are shared through Redis (1) or local to the instance (0).',
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

  async function run(tokens: number, own: Bucket, shared?: Bucket) {
    if (outage.lasting && (performance.now() < retryAtMs || redis.status !== 'ready')) return undefined;
    const buckets = shared === undefined ? [own] : [own, shared];
    const keys = buckets.map(keyOf);
    const limits = buckets.flatMap(({ policy: { burst, perSecond } }) => [burst, perSecond]);
    try {
      const result = await inTime(redis.tokenBucket(keys.length, ...keys, tokens, ...limits));
      outage.over();
      return result;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  return {
    async take(own, shared): Promise<Taken> {
      const result = await run(1, own, shared);
      if (result === undefined) return memory.take(own, shared);
      const [allowed, first, second] = result;
      return describe(
        allowed === 1,
        { policy: own.policy, missing: Number(first) },
        shared && { policy: shared.policy, missing: Number(second) },
      );
    },
    async giveBack(own, shared) {
      if ((await run(-1, own, shared)) === undefined) await memory.giveBack(own, shared);
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
