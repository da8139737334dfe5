/**
 * Ensures that the generated Prisma client exists and is newer than its sources. Prints nothing on standard
 * output, because the admin command, whose output is JSON, runs after it. Only one process generates at a
 * time, so that none imports a half-written client.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oneAtATime, writtenMs } from './one-at-a-time.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['prisma/schema.prisma', 'scripts/tables-generator.ts'].map((file) => join(root, file));
/** Another version of Prisma generates another client. */
const INSTALLED = join(root, 'node_modules/.package-lock.json');
/** `npm prune` removes Prisma's CLI from a production install, which keeps its client. */
const canGenerate = existsSync(join(root, 'node_modules/prisma'));
const PRODUCTS = [
  'tables.ts',
  ...['client.ts', 'models.ts', 'internal/class.ts', 'internal/prismaNamespace.ts'].map(
    (file) => `prisma/${file}`,
  ),
].map((file) => join(root, 'src/generated', file));
const LOCK_WAIT_MS = 120_000;

function isCurrent(): boolean {
  const newestSource = Math.max(1, ...SOURCES.map(writtenMs), canGenerate ? writtenMs(INSTALLED) : 0);
  return PRODUCTS.every((product) => writtenMs(product) >= newestSource);
}

function generate(): number {
  if (!canGenerate) {
    process.stderr.write(
      'The Prisma client must be generated, but the package "prisma" is not installed. Run "npm ci" again.\n',
    );
    return 1;
  }
  process.stderr.write('Generating the Prisma client …\n');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/prisma.ts'), 'generate'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status ?? 1;
}

const LOCK_FILE = join(root, 'node_modules/.prisma-client.lock');

process.exitCode = isCurrent()
  ? 0
  : oneAtATime(LOCK_FILE, LOCK_WAIT_MS, () => (isCurrent() ? 0 : generate()));
