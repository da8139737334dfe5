/**
 * Makes sure that the generated Prisma client is there and newer than what it is made from, without a word on
 * standard output: the admin command, whose output is JSON, runs after it. One process at a time generates, so that
 * none imports a client that another is just writing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
/** The installed packages are in it because another version of Prisma generates another client. */
const SOURCES = ['prisma/schema.prisma', 'node_modules/.package-lock.json'];
const PRODUCTS = ['client.ts', 'models.ts', 'internal/class.ts', 'internal/prismaNamespace.ts'].map((file) =>
  join('src/generated/prisma', file),
);
const LOCK_WAIT_MS = 120_000;

/** When the file was written; 0 where there is none. */
const writtenMs = (path: string) => (existsSync(join(root, path)) ? statSync(join(root, path)).mtimeMs : 0);

function isCurrent(): boolean {
  const newestSource = Math.max(1, ...SOURCES.map(writtenMs));
  return PRODUCTS.every((product) => writtenMs(product) >= newestSource);
}

function generate(): number {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'scripts/prisma.ts'), 'generate'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status ?? 1;
}

/** The operating system's own lock, which goes with the process. */
function withLock<T>(work: () => T): T {
  const lock = new DatabaseSync(join(root, 'node_modules/.prisma-client.lock'), { timeout: LOCK_WAIT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return work();
  } finally {
    lock.close();
  }
}

process.exitCode = isCurrent() ? 0 : withLock(() => (isCurrent() ? 0 : generate()));
