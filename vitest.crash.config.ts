import { defineConfig } from 'vitest/config';

/** Servers and databases that are killed again and again: `npm run test:crash`. One file at a time, for the sake of the clock. */
export default defineConfig({
  test: {
    include: ['tests/crash/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});
