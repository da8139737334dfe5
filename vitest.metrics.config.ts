import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.base.config.ts';

if (!process.env.DATABASE_URL || !process.env.REDIS_URL) {
  throw new Error('Set DATABASE_URL and REDIS_URL: the instances that Prometheus scrapes share both.');
}

/** What a Prometheus makes of the metrics: needs Debian's package prometheus. */
const config = mergeConfig(base, defineConfig({ test: { testTimeout: 180_000 } }));
if (config.test !== undefined) config.test.include = ['tests/metrics/**/*.test.ts'];

export default config;
