/**
 * Kills the service and its database in the middle of keyed mutations, and counts what came of them. It needs a
 * PostgreSQL where databases may be made, and PostgreSQL's binaries for one that it can kill. With `--broken` the
 * same is done to a build that stores the key apart from the writes: then success is a count that is wrong.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

if (!process.env.DATABASE_URL) {
  process.stderr.write(
    'Set DATABASE_URL to a PostgreSQL (15 or later) where databases may be created, such as postgres://postgres@127.0.0.1:5432/postgres.\n',
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
