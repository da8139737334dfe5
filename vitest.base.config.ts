import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** What all test runs have in common. */
export default defineConfig({
  // Node takes graphql's CommonJS build and Vite its ES module: two copies, which graphql-js refuses to mix.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    setupFiles: ['tests/support/property-seed.ts'],
    globalSetup: ['tests/support/global-setup.ts'],
    pool: 'forks',
    // Some only wait: one more than there are cores. On PostgreSQL their connections are limited.
    maxWorkers: process.env.DATABASE_URL === undefined ? 3 : 2,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    // A busy machine is slow, not wrong.
    expect: { poll: { timeout: 10_000 } },
  },
});
