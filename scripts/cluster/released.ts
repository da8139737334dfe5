import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './processes.ts';

/** A checkout of the last release: the commit that wrote the file by which the schema is checked. */
export interface Released {
  readonly folder: string;
  readonly commit: string;
  remove(): Promise<void>;
}

const LOCK = 'package-lock.json';

/**
 * Checks the last release out into a folder within `parent`, ready to run; undefined where there is no repository, or none that
 * has the release. Rejects if it cannot be made ready.
 */
export async function checkOutReleased(root: string, parent: string): Promise<Released | undefined> {
  const git = async (...args: readonly string[]) =>
    run({ file: 'git', args: ['-C', root, ...args], cwd: root });
  const found = await git('log', '-1', '--format=%H', '--', 'schema.released.graphql').catch(() => '');
  const commit = found.trim();
  if (commit === '') return undefined;
  const folder = join(parent, 'released');
  await git('worktree', 'add', '--detach', folder, commit);
  const env = { HOME: process.env.HOME ?? parent };
  const lockOf = (of: string) => {
    const { packages } = JSON.parse(readFileSync(join(of, LOCK), 'utf8')) as { packages: object };
    return JSON.stringify({ ...packages, '': undefined });
  };
  // The same packages need not be fetched again.
  if (lockOf(root) === lockOf(folder)) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  else await run({ file: 'npm', args: ['ci'], cwd: folder, env });
  await run({ file: 'npm', args: ['run', '-s', 'generate'], cwd: folder, env });
  return {
    folder,
    commit,
    remove: async () => void (await git('worktree', 'remove', '--force', folder)),
  };
}
