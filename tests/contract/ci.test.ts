import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const CI = join(import.meta.dirname, '../../.ci/run');

it('CI checks the dependencies for advisories, and runs the gate whatever the registry responds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-ci-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // Fails as npm does without a registry that supports the request.
  const npm = '#!/bin/sh\necho "$@" >> "$CALLS"\ntest "$1" != audit\n';
  writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
  const calls = join(folder, 'calls');
  const env = { PATH: `${folder}:${process.env.PATH}`, CALLS: calls };
  execFileSync(CI, { env, stdio: 'pipe' });
  const commands = readFileSync(calls, 'utf8').trim().split('\n');
  expect(commands.map((line) => line.split(' ')[0])).toEqual(['ci', 'audit', 'run']);
  expect(commands.at(-1)).toBe('run -s test:gate');
});
