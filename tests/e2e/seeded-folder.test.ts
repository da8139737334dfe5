import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import {
  admin,
  demoKey,
  launchServer,
  productionSettings,
  startServer,
} from '../support/processes/server.ts';

describe('NODE_ENV=production', () => {
  it('rejects to start on a folder that development has seeded, or on a copy of its database', async () => {
    const dataDir = await migratedFolder();
    const development = await startServer(dataDir);
    const key = await demoKey(dataDir);
    development.kill('SIGTERM');
    await development.exited;
    const copy = await temporaryFolder();
    await cp(join(dataDir, 'postgres'), join(copy, 'postgres'), { recursive: true });

    for (const folder of [dataDir, copy]) {
      const { code, stdout, stderr } = await launchServer(folder, productionSettings()).exited;
      expect(code).toBe(1);
      expect(stderr).toContain(`"${folder}" was seeded by development`);
      expect(stderr).not.toMatch(/^ {4}at /m);
      expect(stdout).not.toMatch(/service\.started/);
    }
    // Development goes on with it, also where the file that names the credentials is lost.
    await rm(join(copy, 'demo.json'), { force: true });
    const again = await startServer(copy);
    expect((await again.gql('{ viewer { name } }', { key })).data).toEqual({ viewer: { name: 'Ada' } });
  });

  it('starts on a folder where development has seeded nothing', async () => {
    const dataDir = await migratedFolder();
    const own = ['user', 'create', '--name', 'Op', '--email', 'op@example.org', '--password', 'a passphrase'];
    expect((await admin(own, dataDir)).code).toBe(0);
    const development = await startServer(dataDir);
    development.kill('SIGTERM');
    await development.exited;
    await startServer(dataDir, productionSettings());
  });
});
