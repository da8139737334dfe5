import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.base.config.ts';

if (!process.env.DATABASE_URL) throw new Error('Set DATABASE_URL: the image is tried on PostgreSQL too.');

/** What `deploy/` has: needs Linux, root, and Debian's docker-compose, systemd and nginx. */
const config = mergeConfig(base, defineConfig({ test: { testTimeout: 180_000 } }));
if (config.test !== undefined) config.test.include = ['tests/deploy/**/*.test.ts'];

export default config;
