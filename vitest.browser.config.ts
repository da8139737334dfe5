import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** GraphiQL and the example page in a real browser, driven from Node. */
export default defineConfig({
  // As in vitest.config.ts: one copy of graphql-js.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    globalSetup: ['tests/support/processes/built-example.ts'],
    include: ['tests/browser/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A click may lead through a form, a child process with a database of its own and two redirects.
    expect: { poll: { timeout: 30_000 } },
  },
});
