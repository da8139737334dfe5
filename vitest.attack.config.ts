import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

if (!process.env.DATABASE_URL)
  throw new Error(
    'Set DATABASE_URL to a PostgreSQL where databases may be created, such as postgres://postgres@127.0.0.1:5432/postgres.',
  );

/** Attacks on the service as it is in use: production settings, nginx with TLS in front, PgBouncer behind. */
export default defineConfig({
  // As in vitest.config.ts: one copy of graphql-js.
  resolve: { alias: [{ find: /^graphql$/, replacement: fileURLToPath(import.meta.resolve('graphql')) }] },
  test: {
    include: ['tests/attack/**/*.test.ts'],
    setupFiles: ['tests/support/property-seed.ts'],
    globalSetup: ['tests/attack/support/deployment.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
