import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.base.config.ts';

if (!process.env.REDIS_URL) {
  throw new Error('Set REDIS_URL to a Redis that the tests may write to, such as redis://127.0.0.1:6379.');
}

/** What only Redis can show. The keys are those of accounts made for the run, so that runs do not meet. */
const config = mergeConfig(base, defineConfig({ test: { testTimeout: 60_000 } }));
if (config.test !== undefined) config.test.include = ['tests/redis/**/*.test.ts'];

export default config;
