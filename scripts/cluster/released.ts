import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './processes.ts';

/** A checkout of the last release: the commit that wrote the version into the file by which the schema is checked. */
export interface Released {
  readonly folder: string;
  readonly commit: string;
}

/** What the process has been given: proxies, certificates, npm's settings. */
const given = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
);

const lockOf = (folder: string): string => {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as {
    packages: object;
  };
  return JSON.stringify({ ...packages, '': undefined });
};

/**
 * Checks the last release out into a folder within `parent`, ready to run; undefined where no repository gives it. What undoes it
 * is added to `undo`. Rejects if it cannot be made ready.
 */
export async function checkOutReleased(
  root: string,
  parent: string,
  undo: (() => Promise<unknown>)[],
): Promise<Released | undefined> {
  if (!existsSync(join(root, '.git'))) return undefined;
  const git = (...args: readonly string[]) =>
    run({ file: 'git', args: ['-C', root, ...args], cwd: root, env: given });
  // Git may also refuse, as it does where the checkout belongs to somebody else.
  const found = await git('log', '-1', '--format=%H', '-G^# Version ', '--', 'schema.released.graphql').catch(
    () => '',
  );
  const commit = found.trim();
  if (commit === '') return undefined;
  const folder = join(parent, 'released');
  await git('worktree', 'add', '--detach', folder, commit);
  undo.push(() => git('worktree', 'remove', '--force', folder));
  // The same packages need not be fetched again.
  if (lockOf(root) === lockOf(folder)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else await run({ file: 'npm', args: ['ci'], cwd: folder, env: given });
  await run({ file: 'npm', args: ['run', '-s', 'generate'], cwd: folder, env: given });
  return { folder, commit };
}
