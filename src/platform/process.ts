import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import packageJson from '../../package.json' with { type: 'json' };

export interface Build {
  readonly version: string;
  /** The commit of the running code, or null if unknown. */
  readonly commit: string | null;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const HASH = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/**
 * `git archive` and the image write the file COMMIT. Other directories are checkouts. The result is null if
 * the file and the repository cannot be read, or Git is not installed.
 */
export function commitOf(root: string): string | null {
  try {
    const file = join(root, 'COMMIT');
    const commit = existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
    if (HASH.test(commit)) return commit;
    // A named repository may belong to another user, and Git does not search the parent directories for one.
    const git = ['--git-dir', join(root, '.git'), 'rev-parse', '--verify', 'HEAD'];
    return execFileSync('git', git, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 1_000,
    }).trim();
  } catch {
    return null;
  }
}

let known: Build | undefined;

/** The result stays constant, even if another commit is checked out while the process runs. */
export function build(): Build {
  known ??= { version: packageJson.version, commit: commitOf(ROOT) };
  return known;
}

export const buildText = ({ version, commit }: Build = build()): string =>
  commit === null ? version : `${version} (${commit})`;

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * `--help` exits with 0. An unknown option or argument is reported on standard error, and the process exits
 * with 2.
 * @param help begins with the command: "npm …"
 */
export function readArguments<const T extends Options>(help: string, options: T) {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(help);
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}
