import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runScript, temporaryFolder } from '../support/processes/process.ts';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
/** They read settings from the environment, or hand what they are given to a tool with a help of its own. */
const WITHOUT_USAGE = /^(dev|generate|postinstall|db:migrate|admin|typecheck|lint|format)$/;
const PROGRAM = /(?:src|scripts|bench|tests)\/[\w/-]+\.ts$/;
const OURS = Object.entries(scripts).flatMap(([name, command]) => {
  const file = PROGRAM.exec(command)?.[0];
  return file === undefined || WITHOUT_USAGE.test(name) ? [] : [[name, file] as const];
});

describe('a script of package.json', () => {
  it('is among those that are asked here', () => {
    expect(OURS.map(([name]) => name)).toEqual(
      expect.arrayContaining('start bench example screenshots release demo:cluster test:fuzz'.split(' ')),
    );
  });

  it.each(OURS)('%s says what it does, and does nothing, for --help', async (name, file) => {
    const folder = await temporaryFolder();
    const { code, stdout } = await runScript(file, ['--help'], { DATA_DIR: folder }).exited;
    expect(code).toBe(0);
    expect(stdout).toContain(/^(?:start|test)$/.test(name) ? `npm ${name}` : `npm run ${name}`);
  });

  // Vitest gets the options of these, and rejects what it does not know.
  it.each(OURS.filter(([name]) => !/^test(?::clients|:compatibility)?$/.test(name)))(
    '%s rejects an option that it does not have',
    async (_name, file) => {
      const { code, stderr } = await runScript(file, ['--nonsense'], {}).exited;
      expect([code, stderr]).toEqual([2, expect.stringContaining('--nonsense')]);
    },
  );
});

it('each benchmark says what may follow its name', async () => {
  const { stdout } = await runScript('bench/run.ts', ['--help'], {}).exited;
  const names = [...stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(10);
  const outputs = await Promise.all(
    names.map((name) => runScript('bench/run.ts', [name, '--help'], {}).exited),
  );
  for (const [index, { code, stdout: usage }] of outputs.entries())
    expect([code, usage]).toEqual([0, expect.stringContaining(`npm run bench -- ${names[index]}`)]);
});
