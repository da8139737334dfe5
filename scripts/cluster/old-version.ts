import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run, SetupError } from './processes.ts';

/** Something to undo when the demo ends. */
type Undo = () => Promise<unknown>;

/** Git and npm need the settings of the caller: proxies, certificates, the npm configuration. */
const callerEnvironment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

/** Settings of this version and the names that they had in 1.0.0. */
const FORMER_SETTING_NAMES = new Map([
  ['ACCOUNT_RATE_LIMIT_FACTOR', 'ACCOUNT_LIMIT_FACTOR'],
  ['AUTH_FAILURE_BURST', 'FAILURE_BURST'],
  ['AUTH_FAILURE_REFILL_SECONDS', 'FAILURE_REFILL_SECONDS'],
  ['MAX_DISTINCT_SUBSCRIPTIONS', 'MAX_EVENT_GROUPS'],
  ['MAX_DISTINCT_SUBSCRIPTION_BYTES', 'MAX_EVENT_GROUP_BYTES'],
  ['MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT', 'IDEMPOTENCY_MAX_BYTES'],
  ['MAX_STREAMS_PER_CLIENT', 'MAX_STREAMS'],
  ['SHUTDOWN_DELAY_SECONDS', 'SHUTDOWN_DELAY'],
]);

/**
 * Translates settings to the names that a version knows.
 * @param checkout the folder of the version, whose `.env.example` names all its settings
 */
export function translateSettings(
  checkout: string,
  settings: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const example = readFileSync(join(checkout, '.env.example'), 'utf8');
  const known = new Set([...example.matchAll(/^(?:# )?([A-Z][A-Z0-9_]*)=/gm)].map(([, name]) => name));
  const translate = (name: string) => {
    const former = FORMER_SETTING_NAMES.get(name);
    return former !== undefined && !known.has(name) && known.has(former) ? former : name;
  };
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [translate(name), value]));
}

/** The locked packages of a checkout, without the name and version of the project itself. */
function readLockedPackages(folder: string): string {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: object;
  };
  return JSON.stringify({ ...packages, '': undefined });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Finds the commit that `--old` names.
 * @param revision a commit, tag or branch; `released` is the commit that wrote the version into the schema of the last release
 * @throws {SetupError} if the repository does not have the commit, so that one version never passes for two
 */
async function findCommit(root: string, revision: string): Promise<string> {
  if (!existsSync(join(root, '.git')))
    throw new SetupError(`${root} is not a Git repository: give --old a folder that holds the old version.`);
  const git = (...args: readonly string[]) =>
    run({ file: 'git', args: ['-C', root, ...args], cwd: root, env: callerEnvironment });
  const found =
    revision === 'released'
      ? await git('log', '-1', '--format=%H', '-G^# Version ', '--', 'schema.released.graphql')
      : await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`).catch(
          () => '',
        );
  if (found.trim() !== '') return found.trim();
  throw new SetupError(
    `Commit "${revision}" is not in this repository. If the clone is shallow, run: git fetch --unshallow`,
  );
}

/**
 * Finds the old version that the demo replaces, and makes it ready to run.
 * @param old a folder with a checkout, a commit, or `released`
 * @param parent the folder in which a commit is checked out
 * @param undo gets what removes the checkout
 * @returns the folder of the old version
 * @throws {SetupError} if `old` is neither a folder nor a commit of the repository
 */
export async function prepareOldVersion(
  root: string,
  old: string,
  parent: string,
  undo: Undo[],
): Promise<string> {
  if (isFolder(old)) return resolve(old);
  const commit = await findCommit(root, old);
  const folder = join(parent, 'old-version');
  const git = (...args: readonly string[]) =>
    run({ file: 'git', args: ['-C', root, ...args], cwd: root, env: callerEnvironment });
  await git('worktree', 'add', '--detach', folder, commit);
  undo.push(() => git('worktree', 'remove', '--force', folder));
  // Equal lock files mean equal packages, which need no second installation.
  if (readLockedPackages(root) === readLockedPackages(folder))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // `npm run -s` silences npm's errors in its children, too.
  else await run({ file: 'npm', args: ['ci', '--loglevel=error'], cwd: folder, env: callerEnvironment });
  await run({ file: 'npm', args: ['run', '-s', 'generate'], cwd: folder, env: callerEnvironment });
  return folder;
}
