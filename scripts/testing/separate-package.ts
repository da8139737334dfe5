import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** Runs a command in the root folder of the project, and ends with the exit code of a command that fails. */
export function runOrExit(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** The path of a file in an installed package of the project. */
export function fileIn(name: string, path: string): string {
  return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), path);
}

/** Installs a package that has a separate lock file: always in CI, else if the package is not installed. */
export function installPackage(folder: string, ...options: readonly string[]): void {
  if (process.env.CI === undefined && existsSync(join(folder, 'node_modules'))) return;
  runOrExit('npm', ['ci', '--prefix', folder, ...options]);
}
