import { defineConfig } from 'vitest/config';

/** Every shell block of the documentation, each page beside a service of its own. */
export default defineConfig({
  test: {
    include: ['tests/docs/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
