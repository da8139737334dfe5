/** Runs the API tests on a PostgreSQL server, and fails without one; `npm test` falls back to embedded. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

if (!process.env.DATABASE_URL) {
  process.stderr.write(
    'Set DATABASE_URL to a PostgreSQL (15 or later) where the tests may create databases, for example postgres://postgres@127.0.0.1:5432/postgres.\n',
  );
  process.exit(2);
}
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const { status } = spawnSync(process.execPath, [vitest, 'run', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exit(status ?? 1);
