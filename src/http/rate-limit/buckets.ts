import type { Config } from '../../platform/config.ts';
import { type RedisBucketsOptions, redisBuckets } from './redis-store.ts';
import { type BucketStore, memoryBuckets } from './store.ts';

/** The buckets that all instances share, if the settings name a Redis for that, or else those of this process. */
export const createBuckets = (
  { redisUrl }: Pick<Config, 'redisUrl'>,
  services: Omit<RedisBucketsOptions, 'url'>,
): BucketStore =>
  redisUrl === undefined ? memoryBuckets(services.clock) : redisBuckets({ url: redisUrl, ...services });
