import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

if (!process.env.DATABASE_URL) {
  throw new Error(
    'Set DATABASE_URL to a PostgreSQL (15 or later) where databases may be created, such as postgres://postgres@127.0.0.1:5432/postgres.',
  );
}

/** Instances killed and connections cut, at random and for a minute or two: one after the other. */
export default defineConfig({
  // As in vitest.config.ts: one copy of graphql-js.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    include: ['tests/chaos/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
});
