import { defineConfig } from 'vitest/config';

/** Clients that vanish, each in a network namespace of its own: needs Linux, root, iproute2 and iptables. */
export default defineConfig({
  test: {
    include: ['tests/network/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
