/**
 * Installs and builds the package `examples/web`, if it has changed since. Only one process does so at a time. What npm
 * and the compilers print goes to standard error.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oneAtATime, writtenMs } from './one-at-a-time.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LOCK_WAIT_MS = 300_000;

/** The folder of the package. */
export const EXAMPLE = join(ROOT, 'examples/web');

const LOCK_FILE = join(EXAMPLE, 'package-lock.json');
/** npm writes it at the end of an installation. */
const INSTALLED = join(EXAMPLE, 'node_modules/.package-lock.json');
const BUILT = join(EXAMPLE, 'dist/index.html');
/** What the page asks for by id, in the form that `admin document publish` takes. */
export const DOCUMENTS = join(EXAMPLE, 'documents.json');

/** A tool of the package that failed. Its own output says why. */
export class ExampleError extends Error {}

function runNpm(...args: readonly string[]): void {
  const { status, error } = spawnSync('npm', [...args], {
    cwd: EXAMPLE,
    stdio: ['ignore', process.stderr.fd, process.stderr.fd],
    // The package has its own Vite. A test's mode is not that of a build.
    // The pinned Node trusts the authorities that the machine trusts only if told to.
    env: { ...process.env, NODE_ENV: undefined, VITEST: undefined, NODE_USE_SYSTEM_CA: '1' },
  });
  if (status !== 0) throw new ExampleError(`"npm ${args.join(' ')}" failed in ${EXAMPLE}`, { cause: error });
}

function isInstalled(): boolean {
  return existsSync(INSTALLED) && writtenMs(INSTALLED) >= writtenMs(LOCK_FILE);
}

function isBuilt(): boolean {
  const own = globSync(['index.html', '*.{json,ts}', 'public/**', 'src/**'], {
    cwd: EXAMPLE,
    exclude: ['**/graphql-env.d.ts'],
  }).map((file) => join(EXAMPLE, file));
  const shared = globSync(['schema.graphql', 'packages/client/src/*.ts'], { cwd: ROOT }).map((file) =>
    join(ROOT, file),
  );
  return Math.max(...[...own, ...shared].map(writtenMs)) < writtenMs(BUILT);
}

/** Throws ExampleError. */
export function buildExample(): void {
  oneAtATime(join(ROOT, 'node_modules/.example.lock'), LOCK_WAIT_MS, () => {
    if (!isInstalled()) {
      process.stderr.write('Installing the packages of the example page …\n');
      runNpm('ci');
    }
    if (!isBuilt()) {
      process.stderr.write('Building the example page …\n');
      runNpm('run', '--silent', 'build');
    }
  });
}
