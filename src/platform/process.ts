import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
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

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8').trim() : '');
const hashIn = (text: string): string | undefined => (HASH.test(text) ? text : undefined);

/** Finds the Git directory. In a linked work tree, `.git` is a file that names the directory. */
function repositoryOf(root: string): string | undefined {
  const git = join(root, '.git');
  if (existsSync(join(git, 'HEAD'))) return git;
  if (!existsSync(git)) return undefined;
  const [, linked] = /^gitdir: (.+)$/m.exec(textOf(git)) ?? [];
  return linked === undefined ? undefined : resolve(root, linked);
}

/** The repository is read without Git (gitrepository-layout). */
function checkedOut(root: string): string | undefined {
  const repository = repositoryOf(root);
  if (repository === undefined) return undefined;
  const head = textOf(join(repository, 'HEAD'));
  const [, name] = /^ref: (.+)$/.exec(head) ?? [];
  if (name === undefined) return hashIn(head);
  const common = resolve(repository, textOf(join(repository, 'commondir')));
  const loose = hashIn(textOf(join(common, name)));
  if (loose !== undefined) return loose;
  const packed = textOf(join(common, 'packed-refs')).split('\n');
  return hashIn(packed.find((line) => line.endsWith(` ${name}`))?.split(' ')[0] ?? '');
}

/**
 * `git archive` and the image write the file COMMIT. Other directories are checkouts. The result is null if
 * the files cannot be read.
 */
export function commitOf(root: string): string | null {
  try {
    return hashIn(textOf(join(root, 'COMMIT'))) ?? checkedOut(root) ?? null;
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
