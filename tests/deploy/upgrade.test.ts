import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { blocksOf } from '../support/docs/markdown.ts';
import { ROOT, runProgram, type Settings, temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings } from '../support/processes/server.ts';

const unit = readFileSync(join(ROOT, 'deploy/systemd/content-graph@.service'), 'utf8');
const [, waiting = ''] = /^ExecStartPost=\/usr\/bin\/node (.*)$/m.exec(unit) ?? [];

/** Runs the command after which systemd calls the start of an instance a success. */
function startPost(settings: Settings, change = (command: string) => command) {
  return runProgram([process.execPath, ...change(waiting).split(' ')], settings, ROOT);
}

describe('systemd calls the start of an instance a success', () => {
  it('once the instance is ready, at HOST and PORT of its settings', async () => {
    const { url, drop } = await createEmptyDatabase('upgrade');
    onTestFinished(drop);
    const folder = await temporaryFolder();
    const place = { HOST: '::1', PORT: String(await freePort()) };
    const settings = { ...productionSettings(), ...place, DATABASE_URL: url };
    const server = launchServer(folder, settings);
    await server.printed(/migrations\.pending/);
    const started = startPost({ ...place, MAINPID: String(server.pid) });
    const gaveUp = await startPost(place, (command) => command.replace(/\d+$/, '0')).exited;
    expect(gaveUp).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(' returns 503\n') });
    expect(await admin(['database', 'migrate'], folder, settings)).toMatchObject({ code: 0 });
    expect(await started.exited).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  it('and a failure as soon as the process has exited', async () => {
    const ended = runProgram([process.execPath, '--eval', ''], {});
    await ended.exited;
    const place = { PORT: String(await freePort()), MAINPID: String(ended.pid) };
    expect(await startPost(place, (command) => command.replace(/\d+$/, '86400')).exited).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('/health/ready cannot be reached (ECONNREFUSED)'),
    });
  });
});

const page = readFileSync(join(ROOT, 'docs/operate/deployment.md'), 'utf8');
const steps = blocksOf(page).filter(({ text }) =>
  /systemctl restart|up --detach --no-deps|rollout status/.test(text),
);

/** Runs a block of the page with commands that only write down how they are called. The one after `succeed` others fails. */
function callsOf(block: string, succeed: number): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-upgrade-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const calls = join(folder, 'calls');
  writeFileSync(calls, '');
  const stub = `#!/bin/sh
echo "$(basename "$0") $*" >> ${calls}
case "$*" in *jsonpath*) echo Failed;; esac
test "$(wc -l < ${calls})" -le ${succeed}
`;
  for (const name of ['ln', 'systemctl', 'docker', 'kubectl'])
    writeFileSync(join(folder, name), stub, { mode: 0o755 });
  const script = `${block}\ntrue`;
  execFileSync('bash', ['-c', script], { env: { PATH: `${folder}:${process.env.PATH}` }, stdio: 'pipe' });
  return readFileSync(calls, 'utf8').trim().split('\n');
}

describe('an upgrade of docs/operate/deployment.md', () => {
  it('is documented for systemd, back and forth, Compose and Kubernetes', () => {
    expect(steps.map(({ section }) => section)).toEqual(['Compose', 'systemd', 'systemd', 'Kubernetes']);
  });

  it.each(steps.map(({ section, text }) => [section, text]))(
    'stops at the first command that fails: %s',
    (_section, block) => {
      const commands = callsOf(block, Number.MAX_SAFE_INTEGER);
      expect(commands.length).toBeGreaterThan(2);
      for (const index of commands.keys()) {
        // The loop of the page repeats this one until it succeeds.
        if (commands[index]?.includes('jsonpath')) continue;
        expect(callsOf(block, index)).toEqual(commands.slice(0, index + 1));
      }
    },
  );
});
