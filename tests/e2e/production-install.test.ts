import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runScript, temporaryFolder } from '../support/processes/process.ts';

describe('An install without the packages that generate the Prisma client', () => {
  it('keeps the client that it has, and names what is missing if it has none', async () => {
    const folder = await temporaryFolder();
    const copy = (part: string) => cp(join(ROOT, part), join(folder, part), { recursive: true });
    for (const part of ['package.json', 'prisma', 'scripts']) await copy(part);
    await mkdir(join(folder, 'node_modules'));
    const prepare = () => runScript('scripts/ensure-client.ts', [], {}, folder).exited;

    expect(await prepare()).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('the package "prisma" is not installed. Run "npm ci" again.'),
    });
    await copy('src/generated');
    // `npm prune` writes this file after the client was generated.
    await writeFile(join(folder, 'node_modules/.package-lock.json'), '{}');
    expect(await prepare()).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });
});
