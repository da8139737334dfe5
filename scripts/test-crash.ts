/**
 * Kills the service and its database during mutations with idempotency keys, and counts their effects. Needs
 * a PostgreSQL where it may create databases, and PostgreSQL's binaries to run a server that it can kill.
 * With `--broken`, it tests a build that stores the key separately from the writes, and succeeds if it finds
 * a wrong count.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

if (!process.env.DATABASE_URL) {
  process.stderr.write(
    'Set DATABASE_URL to a PostgreSQL (15 or later) where the tests may create databases, for example postgres://postgres@127.0.0.1:5432/postgres.\n',
  );
  process.exit(2);
}
const args = process.argv.slice(2);
const only = args.includes('--broken') ? ['-t', 'stored apart'] : [];
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const { status } = spawnSync(
  process.execPath,
  [
    vitest,
    'run',
    '--config',
    'vitest.crash.config.ts',
    ...only,
    ...args.filter((argument) => argument !== '--broken'),
  ],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
