import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT, runScript, temporaryFolder } from '../support/processes/process.ts';

/** What a start reads of the project; the packages are linked. */
const PARTS = ['src', 'prisma', 'scripts', 'package.json', 'prisma.config.ts'];

describe('the project in a folder with any name', () => {
  it('starts, migrates and takes admin commands where the path has spaces and letters beyond ASCII', async () => {
    const folder = join(await temporaryFolder(), 'Ünï spaß #1 100%25');
    for (const part of PARTS)
      await cp(join(ROOT, part), join(folder, part), { recursive: true, preserveTimestamps: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const settings = { DATA_DIR: join(folder, 'data'), PORT: '0' };

    const prepared = await runScript('scripts/ensure-client.ts', [], {}, folder).exited;
    expect(prepared).toMatchObject({ code: 0, stdout: '' });
    // The copy may be older than the packages.
    expect(prepared.stderr).toMatch(/^(?:Generating the Prisma client …\n)?$/);
    const server = runScript('src/main.ts', [], settings, folder);
    const [, origin] = await server.printed(/Content Graph API\s+(http:\/\/\S+)\/graphql/);
    expect((await fetch(`${origin}/health/ready`)).status).toBe(200);
    const listed = await runScript('src/admin/main.ts', ['user', 'list'], settings, folder).exited;
    expect(listed.code, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toHaveLength(3);
  });
});
