import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { runScript, type Settings, temporaryFolder } from '../support/processes/process.ts';
import { demoKey, productionSettings, startServer } from '../support/processes/server.ts';

const reset = (dataDir: string, settings: Settings = {}, args: readonly string[] = []) =>
  runScript('scripts/demo-reset.ts', args, { DATA_DIR: dataDir, ...settings }).exited;
const TITLES = '{ posts { title } }';

describe('npm run demo:reset', () => {
  it('brings back the demo data, and only that, but not under a running service', async () => {
    const dataDir = await migratedFolder();
    const first = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const { data: before } = await first.gql(TITLES, { key });
    await first.gql('mutation { createPost(title: "Hello", body: "First post.") { id } }', { key });

    const rejected = await reset(dataDir);
    expect([rejected.code, rejected.stderr]).toEqual([
      1,
      expect.stringContaining('in use by another process'),
    ]);
    expect((await first.gql(TITLES, { key })).data).not.toEqual(before);
    first.kill('SIGTERM');
    await first.exited;

    const done = await reset(dataDir);
    expect([done.code, done.stdout]).toEqual([
      0,
      expect.stringContaining(`Deleted ${join(dataDir, 'postgres')}`),
    ]);
    expect(done.stdout).toContain('Run "npm start" next');
    const second = await startServer(dataDir);
    expect((await second.gql(TITLES, { key: await demoKey(dataDir) })).data).toEqual(before);
    expect((await second.gql(TITLES, { key })).errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  });

  it('rejects a folder that has no demo data, production, and a server of its own', async () => {
    const empty = await migratedFolder();
    const seeded = await temporaryFolder();
    await writeFile(join(seeded, 'demo.json'), '{}');
    const url = 'postgres://nobody@127.0.0.1:1/nothing';
    const looked = await Promise.all([
      reset(empty),
      reset(seeded, productionSettings()),
      reset(seeded, { DATABASE_URL: url }),
    ]);
    for (const { code, stderr } of looked) {
      expect(code).toBe(1);
      expect(stderr).toMatch(/Nothing was deleted\.\n$/);
    }
    expect(existsSync(join(empty, 'postgres'))).toBe(true);
    expect(existsSync(join(seeded, 'demo.json'))).toBe(true);
  });

  it('says what it would do, and deletes nothing meanwhile', async () => {
    const seeded = await temporaryFolder();
    await writeFile(join(seeded, 'demo.json'), '{}');
    const help = await reset(seeded, {}, ['--help']);
    expect([help.code, help.stdout]).toEqual([0, expect.stringMatching(/^npm run demo:reset\n/)]);
    expect((await reset(seeded, {}, ['--force'])).code).toBe(2);
    expect(existsSync(join(seeded, 'demo.json'))).toBe(true);
  });
});
