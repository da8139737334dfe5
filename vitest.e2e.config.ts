import { defineConfig } from 'vitest/config';

/** Child processes on real sockets: slower than the others, and each with a folder of its own. */
export default defineConfig({
  test: {
    include: ['tests/e2e/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
