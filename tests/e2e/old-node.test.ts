import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runProgram } from '../support/processes/process.ts';

const SCRIPT = join(ROOT, 'scripts/require-node.cjs');
/** What the npm scripts start. */
const RUN = join(ROOT, 'scripts/run.cjs');
const NEEDED = /^The Content Graph API needs Node 24 or later, and this is Node \d+\.\d+\.\d+ \(.*\n$/;

/** Where Debian and others have the machine's own Node. */
const SYSTEM = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => {
  const major = Number(
    /^v(\d+)/.exec(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1],
  );
  return major < 24;
});

describe('What runs before every npm script and at "npm ci"', () => {
  it.skipIf(SYSTEM === undefined)('says on an old Node which one is needed', async () => {
    for (const script of [[SCRIPT], [RUN, 'src/main.ts']]) {
      const { code, stdout, stderr } = await runProgram([SYSTEM ?? '', ...script], {}).exited;
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(NEEDED);
    }
  });

  it('starts what it is told to in its own process, with the arguments that follow', async () => {
    const { code, stdout } = await runProgram([process.execPath, RUN, 'src/admin/main.ts', 'usr', 'list'], {})
      .exited;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('compares major versions, and says nothing where they do', async () => {
    const run = (version: string) => runProgram([process.execPath, SCRIPT, version], {}).exited;
    expect(await run('v9.11.2')).toMatchObject({ code: 1, stderr: expect.stringMatching(NEEDED) });
    expect(await run('v23.99.0')).toMatchObject({ code: 1, stderr: expect.stringMatching(NEEDED) });
    for (const version of ['v24.0.0', process.version])
      expect(await run(version)).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });
});
