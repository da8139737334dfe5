import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, ROOT } from './commands.ts';

/**
 * Installs what a tier needs on Debian and starts PostgreSQL and Redis, where DATABASE_URL and REDIS_URL are not given.
 * @returns the settings of both services
 * @throws {Error} if a package cannot be installed or a service does not start
 */
export function prepareMachine(tier: 'gate' | 'full'): Environment {
  const printed = execFileSync(join(ROOT, '.ci/machine'), [tier], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return Object.fromEntries(
    printed
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** Runs the work with a folder where Node keeps compiled modules, so that child processes start in half the time. */
export async function withCompileCache<T>(work: (environment: Environment) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-compiled-'));
  try {
    return await work({ NODE_COMPILE_CACHE: folder });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
