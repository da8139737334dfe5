import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { buildText, commitOf } from '../../../src/platform/process.ts';

/** A folder with a repository of one commit, and that commit. */
function repository() {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', stdio: 'pipe' }).trim();
  git('init', '--quiet');
  for (const setting of ['user.name', 'user.email']) git('config', setting, 'x@example.com');
  writeFileSync(join(folder, 'COMMIT'), '$Format:%H$\n');
  writeFileSync(join(folder, '.gitattributes'), 'COMMIT export-subst\n');
  git('add', '--all');
  git('commit', '--quiet', '--message', 'one');
  return { folder, git, commit: git('rev-parse', 'HEAD') };
}

it('is the commit that is checked out, however the repository keeps it', () => {
  const { folder, git, commit } = repository();
  expect(commitOf(folder)).toBe(commit);
  git('pack-refs', '--all');
  expect(commitOf(folder)).toBe(commit);
  git('checkout', '--quiet', '--detach');
  expect(commitOf(folder)).toBe(commit);
  git('worktree', 'add', '--quiet', '-b', 'other', join(folder, 'linked'));
  expect(commitOf(join(folder, 'linked'))).toBe(commit);
});

it('is what an archive or an image says, before what is checked out', () => {
  const { folder, git, commit } = repository();
  const archive = join(folder, 'archive.tar');
  git('archive', '--output', archive, 'HEAD');
  const text = execFileSync('tar', ['-xOf', archive, 'COMMIT'], { encoding: 'utf8' });
  expect(text.trim()).toBe(commit);
  writeFileSync(join(folder, 'COMMIT'), `${'a'.repeat(40)}\n`);
  expect(commitOf(folder)).toBe('a'.repeat(40));
});

it('is not known where nothing tells, and the version is said without it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  expect(commitOf(folder)).toBeNull();
  // An image that was built without its argument.
  writeFileSync(join(folder, 'COMMIT'), '\n');
  expect(commitOf(folder)).toBeNull();
  expect(buildText({ version: '1.2.3', commit: null })).toBe('1.2.3');
  expect(buildText({ version: '1.2.3', commit: 'abc' })).toBe('1.2.3 (abc)');
});
