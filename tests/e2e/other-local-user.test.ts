import { chmod, mkdir, readdir, rename, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fillFolder } from '../support/processes/migrated-folder.ts';
import { type OtherUser, otherUser } from '../support/processes/other-user.ts';
import { ROOT, runProgram, type Settings, temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';
import { AMPLE_TIMEOUTS } from '../support/settings.ts';

const NOTHING = { seen: [], read: [], written: [], moved: [], connected: [], listening: [] };
const EVE = [
  'user',
  'create',
  '--name',
  'Eve',
  '--email',
  'eve@example.org',
  '--password',
  'a long passphrase',
];

/** A folder that everybody on the machine can go through, and one for temporary files that all of them share. */
async function sharedMachine(): Promise<{ home: string; tmp: string }> {
  const home = await temporaryFolder();
  await chmod(home, 0o755);
  const tmp = join(home, 'tmp');
  await mkdir(tmp);
  await chmod(tmp, 0o1777);
  return { home, tmp };
}

/** The folders that a running service has made its own, wherever its socket is. */
async function foldersOf(dataDir: string, tmp: string): Promise<string[]> {
  return [dataDir, ...(await readdir(tmp)).map((name) => join(tmp, name))];
}

/** The other user tries all there is while the service runs, and the service has noticed nothing. */
async function expectNothing(other: OtherUser, dataDir: string, tmp: string): Promise<void> {
  const folders = await foldersOf(dataDir, tmp);
  expect(await other.attack('attack', ...folders)).toEqual(NOTHING);
  const taker = other.start('take', ...folders);
  await taker.printed(/waiting/);
  const made = await admin(EVE, dataDir, { TMPDIR: tmp });
  expect(made.code, made.stderr).toBe(0);
  expect((await admin(['user', 'list'], dataDir, { TMPDIR: tmp })).json).toContainEqual(
    expect.objectContaining({ email: 'eve@example.org' }),
  );
  expect(taker.stdout).not.toMatch(/connected/);
}

describe('another user of the machine reads nothing, changes nothing and listens nowhere', () => {
  it('where DATA_DIR was open to all', async () => {
    const { home, tmp } = await sharedMachine();
    const other = await otherUser();
    const dataDir = join(home, 'data');
    await mkdir(dataDir);
    await chmod(dataDir, 0o755);
    await startServer(dataDir, { TMPDIR: tmp });
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    await expectNothing(other, dataDir, tmp);
  });

  it('where DATA_DIR was for its owner alone', async () => {
    const { home, tmp } = await sharedMachine();
    const dataDir = join(home, 'data');
    await mkdir(dataDir, { mode: 0o700 });
    await fillFolder(dataDir);
    await startServer(dataDir, { TMPDIR: tmp });
    await expectNothing(await otherUser(), dataDir, tmp);
  });

  it('where the path of DATA_DIR is longer than that of a socket', async () => {
    const { home, tmp } = await sharedMachine();
    const dataDir = join(home, 'd'.repeat(150));
    await fillFolder(dataDir);
    await startServer(dataDir, { TMPDIR: tmp });
    await expectNothing(await otherUser(), dataDir, tmp);
  });

  it('where the umask is 0', async () => {
    const { home, tmp } = await sharedMachine();
    const dataDir = join(home, 'data');
    const settings: Settings = { ...AMPLE_TIMEOUTS, DATA_DIR: dataDir, TMPDIR: tmp, PORT: '0' };
    const start = `umask 0; exec "${join(ROOT, 'node_modules/.bin/node')}" "${join(ROOT, 'src/main.ts')}"`;
    const server = runProgram(['/bin/sh', '-c', start], settings);
    await server.printed(/service\.started/);
    for (const [name, mode] of [
      ['.', 0o700],
      ['admin.sock', 0o600],
      ['demo.json', 0o600],
      ['postgres', 0o700],
      ['postgres/global/pg_control', 0o600],
    ] as const)
      expect([name, ((await stat(join(dataDir, name))).mode & 0o777).toString(8)]).toEqual([
        name,
        mode.toString(8),
      ]);
    await expectNothing(await otherUser(), dataDir, tmp);
  });

  it('where that user made DATA_DIR beforehand: the service and its commands reject it', async () => {
    const { tmp } = await sharedMachine();
    const other = await otherUser();
    const dataDir = join(tmp, 'data');
    await other.attack('make', dataDir);
    const { code, stderr } = await launchServer(dataDir, { TMPDIR: tmp }).exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/belongs to another user of this machine/);
    const rejected = await admin(EVE, dataDir, { TMPDIR: tmp });
    expect(rejected).toMatchObject({ code: 1, stdout: '' });
    expect(rejected.stderr).toMatch(/belongs to another user of this machine/);
    expect(await readdir(dataDir)).toEqual([]);
  });
});

describe('An administration command', () => {
  it.each([
    'database backup /tmp/backup-of-another-user',
    'database copy-to postgres://127.0.0.1/nowhere',
    'doctor',
  ])('names the owner of a DATA_DIR whose content another user cannot see: %s', async (command) => {
    const dataDir = await temporaryFolder();
    (await otherUser()).own(dataDir);
    const { code, stdout, stderr } = await admin(command.split(' '), dataDir);
    expect({ code, text: stdout + stderr }).toEqual({
      code: 1,
      text: expect.stringMatching(/belongs to another user of this machine/),
    });
  });

  it('sends nothing to a socket that another user has made, or that a link leads to', async () => {
    const { tmp } = await sharedMachine();
    const other = await otherUser();
    const planted = join(tmp, 'planted');
    await other.attack('make', planted);
    const listener = other.start('listen', planted);
    await listener.printed(/waiting/);
    const dataDir = await temporaryFolder();
    const socket = join(dataDir, 'admin.sock');
    await symlink(join(planted, 'admin.sock'), socket);
    expect((await admin(EVE, dataDir)).code).toBe(0);
    await rm(socket);
    await rename(join(planted, 'admin.sock'), socket);
    expect((await admin(['user', 'list'], dataDir)).json).toHaveLength(1);
    expect(listener.stdout).not.toMatch(/connected/);
  });
});

describe('a DATA_DIR that others can read or write', () => {
  it.each(['755', '770', '711', '702'])(
    'is rejected by production in plain words (mode %s)',
    async (mode) => {
      const dataDir = await temporaryFolder();
      await chmod(dataDir, Number.parseInt(mode, 8));
      const { code, stderr } = await launchServer(dataDir, productionSettings()).exited;
      expect(code).toBe(1);
      expect(stderr).toContain(`DATA_DIR "${dataDir}" is open to other users`);
      expect(stderr).toContain('chmod');
      expect(await readdir(dataDir)).toEqual([]);
    },
  );

  it('is rejected where somebody has put something into it', async () => {
    const { home } = await sharedMachine();
    const dataDir = join(home, 'data');
    await mkdir(dataDir);
    await chmod(dataDir, 0o777);
    await (await otherUser()).attack('make', join(dataDir, 'postgres'));
    const { code, stderr } = await launchServer(dataDir).exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/"postgres" in it belongs to another user/);
  });
});
