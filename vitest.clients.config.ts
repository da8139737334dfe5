import { defineConfig } from 'vitest/config';

/** The recipes of docs/clients.md against servers in processes of their own. */
export default defineConfig({
  test: {
    include: ['tests/clients/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
