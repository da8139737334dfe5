import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EMBEDDED_MAJOR } from '../../src/database/embedded/major-version.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { expectBothSay, expectOneLine } from '../support/processes/mistakes.ts';
import { mountedDisk } from '../support/processes/mounted.ts';
import { otherUser } from '../support/processes/other-user.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';

async function writtenBy(parent: string, major: string): Promise<string> {
  await mkdir(join(parent, 'postgres'), { recursive: true });
  await chmod(parent, 0o700);
  await writeFile(join(parent, 'postgres/PG_VERSION'), `${major}\n`);
  return parent;
}

describe('DATA_DIR', () => {
  type Make = (parent: string) => Promise<string>;
  const cases: [string, Make, RegExp][] = [
    [
      'is a file',
      async (parent) => {
        await writeFile(join(parent, 'file'), 'mine');
        return join(parent, 'file');
      },
      /^DATA_DIR ".*\/file" cannot be used: it must be a folder/,
    ],
    [
      'is below a file',
      async (parent) => {
        await writeFile(join(parent, 'file'), 'mine');
        return join(parent, 'file/data');
      },
      /^DATA_DIR ".*" cannot be used: a part of the path is a file/,
    ],
    [
      'is a link that leads nowhere',
      async (parent) => {
        await symlink(join(parent, 'unmounted'), join(parent, 'link'));
        return join(parent, 'link');
      },
      /^DATA_DIR ".*\/link" cannot be used: it must be a folder, .* link that leads nowhere/,
    ],
    [
      'is where nothing can be created',
      async () => '/proc/content-graph/data',
      /^DATA_DIR "\/proc\/content-graph\/data" cannot be used: it cannot be created there/,
    ],
    [
      'has names that are too long',
      async (parent) => join(parent, 'd'.repeat(300)),
      /^DATA_DIR ".*" cannot be used: its path is too long/,
    ],
    [
      'has a path that is too long for its lock',
      async (parent) => join(parent, ...['d', 'e', 'f'].map((letter) => letter.repeat(200))),
      /^DATA_DIR ".*" cannot be used: its path has \d+ bytes, but must have at most 499\./,
    ],
    [
      'was written by PostgreSQL 17',
      (parent) => writtenBy(parent, '17'),
      /written by PostgreSQL 17, but .* PostgreSQL 18\. Nothing was changed: run "npm run -s admin -- upgrade" of version 1\.0\.0 on DATA_DIR/,
    ],
    [
      'was written by another major version',
      (parent) => writtenBy(parent, '19'),
      /written by PostgreSQL 19, .* database backup FILE" with the version that wrote the database/,
    ],
    [
      'has an upgrade of version 1.0.0 that was interrupted',
      async (parent) => {
        await mkdir(join(parent, 'postgres.upgrade'));
        await chmod(parent, 0o700);
        return parent;
      },
      /^An upgrade of the embedded database .* was interrupted\. .* upgrade" of version 1\.0\.0/,
    ],
  ];
  it.each(cases)('%s', async (_name, make, says) => {
    const parent = await temporaryFolder();
    const dataDir = await make(parent);
    const before = await readdir(parent, { recursive: true });
    await expectBothSay(dataDir, productionSettings(), says);
    expect(await readdir(parent, { recursive: true })).toEqual(before);
  });

  it.skipIf(process.geteuid?.() === 0)('is not writable', async () => {
    const dataDir = await temporaryFolder();
    await chmod(dataDir, 0o500);
    await expectBothSay(
      dataDir,
      productionSettings(),
      /^DATA_DIR ".*" cannot be used: give the user .* the right to write/,
    );
    await chmod(dataDir, 0o700);
  });

  it('is on a read-only file system, or below one', async () => {
    const disk = await mountedDisk(100);
    await mkdir(join(disk.folder, 'data'), { mode: 0o700 });
    disk.makeReadOnly();
    for (const name of ['data', 'new/data'])
      await expectBothSay(
        join(disk.folder, name),
        productionSettings(),
        /^DATA_DIR ".*" cannot be used: its file system is read-only/,
      );
  });

  it('is on a disk with too little room', async () => {
    const { folder } = await mountedDisk(40);
    const says = /^DATA_DIR ".*" cannot be used: its disk has 40 MiB left, and 64 are needed/;
    await expectBothSay(folder, productionSettings(), says);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each(['postgres', 'postgres/base', 'postgres/PG_VERSION', 'secret-key'])(
    'holds what belongs to another user: %s',
    async (name) => {
      const dataDir = await temporaryFolder();
      await mkdir(join(dataDir, 'postgres/base'), { recursive: true });
      await writeFile(join(dataDir, 'postgres/PG_VERSION'), `${EMBEDDED_MAJOR}\n`);
      await writeFile(join(dataDir, 'secret-key'), 'x');
      (await otherUser()).own(join(dataDir, name));
      await expectBothSay(
        dataDir,
        productionSettings(),
        /^".*" belongs to another user .* "chown -R \d+ '.*'", then start again/,
      );
    },
  );

  it.skipIf(process.geteuid?.() === 0)('holds what its user may not write', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'), { mode: 0o500 });
    await expectBothSay(dataDir, productionSettings(), /cannot be used: give the user .* postgres/);
  });

  it('is damaged', async () => {
    const dataDir = await temporaryFolder();
    await mkdir(join(dataDir, 'postgres'));
    await expectBothSay(
      dataDir,
      productionSettings(),
      /does not start: .* damaged or incomplete\. Restore a backup/,
    );
  });

  it('holds what the pinned PGlite writes, and a file in the place of the socket is replaced', async () => {
    const dataDir = await migratedFolder();
    const settings = productionSettings();
    const server = await startServer(dataDir, settings);
    expect((await readFile(join(dataDir, 'postgres/PG_VERSION'), 'utf8')).trim()).toBe(EMBEDDED_MAJOR);
    server.kill('SIGKILL');
    await server.exited;
    await rm(join(dataDir, 'admin.sock'));
    await writeFile(join(dataDir, 'admin.sock'), '');
    await startServer(dataDir, settings);
    expect((await admin(['user', 'list'], dataDir, settings)).json).toEqual([]);
  });

  it('has damaged demo credentials', async () => {
    const dataDir = await temporaryFolder();
    await writeFile(join(dataDir, 'demo.json'), '{');
    expectOneLine(await launchServer(dataDir).exited, /demo\.json" .* cannot be read: remove it/);
  });
});
