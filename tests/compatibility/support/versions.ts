import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/processes/process.ts';

/** Where packages are: the suite's folder, or the project's for a dependency of the project. */
const FOLDERS = [join(import.meta.dirname, '../node_modules'), join(ROOT, 'node_modules')];

/** The installed version of an npm package. */
export function packageVersion(name: string): string {
  const file = FOLDERS.map((folder) => join(folder, name, 'package.json')).find(existsSync);
  if (file === undefined) throw new Error(`${name} is not installed: run "npm run test:compatibility"`);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
  return version;
}

/** The version that a program prints. */
export function programVersion(file: string, ...args: readonly string[]): string {
  const { stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8' });
  const version = /\d+\.\d+\.\d+/.exec(`${stdout}${stderr}`)?.[0];
  if (version === undefined) throw new Error(`${file} ${args.join(' ')} prints no version`, { cause: error });
  return version;
}
