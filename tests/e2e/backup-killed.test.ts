import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBackup } from '../../src/admin/backup/backup-file.ts';
import { asApp, keyedLoad, launchAdmin, partsIn, quickFolders } from '../support/processes/backups.ts';
import { killAt, Moments, workOf } from '../support/processes/kills.ts';
import { admin, demoKey, startServer } from '../support/processes/server.ts';
import { UNTHROTTLED } from '../support/settings.ts';

/** All of it is read and compared with its checksum. */
const verify = (file: string) =>
  readBackup(file, async ({ pieces }) => {
    for await (const _piece of pieces);
  });

describe('a backup that is killed', () => {
  it('is absent or whole, and the server goes on', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir, UNTHROTTLED);
    const load = keyedLoad(asApp(server), await demoKey(dataDir), 'load');
    const begun = () => partsIn(backups).length > 0;
    const run = (name: string) => launchAdmin(['database', 'backup', join(backups, name)], dataDir);
    const moments = new Moments(await workOf(run('first'), begun));
    for (let n = 0; moments.left; n += 1) {
      const file = join(backups, `killed-${n}`);
      const ended = await killAt(run(`killed-${n}`), begun, moments.nextMs());
      moments.was({ ended });
      if (existsSync(file)) await verify(file);
      else expect(ended).toBe(false);
      for (const part of partsIn(backups)) rmSync(join(backups, part));
    }
    const before = [...load.written];
    expect((await run('last').exited).code).toBe(0);
    await load.stop();
    expect(new Set(load.statuses)).toEqual(new Set([200]));
    expect(server.stdout).not.toMatch(/embedded_db\.(?:crashed|restart)/);
    server.kill('SIGTERM');
    expect((await server.exited).stderr).toBe('');

    expect((await admin(['database', 'restore', join(backups, 'last')], restored)).code).toBe(0);
    const again = await startServer(restored);
    const { data } = await again.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      key: await demoKey(restored),
      variables: {
        ids: before.slice(-50).map(({ response }) => JSON.parse(response.text).data.createPost.id),
      },
    });
    expect(data.nodes).not.toContain(null);
  });
});
