import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { publishAddress } from '../../src/platform/db/embedded/address.ts';
import { identityOf } from '../../src/platform/db/embedded/folder-identity.ts';
import { lockFolder } from '../../src/platform/db/embedded/lock.ts';
import { fillFolder } from '../support/processes/migrated-folder.ts';
import { type OtherUser, otherUser } from '../support/processes/other-user.ts';
import { ROOT, runProgram, type Settings, temporaryFolder, until } from '../support/processes/process.ts';
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

  it('where the path of DATA_DIR is too long for a socket', async () => {
    const { home, tmp } = await sharedMachine();
    const other = await otherUser();
    const dataDir = join(home, 'd'.repeat(100));
    await fillFolder(dataDir);
    // The name of a folder that could be foreseen would be taken before the service starts.
    const digest = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
    const foreseen = join(tmp, `content-graph-${digest}`);
    await other.attack('make', foreseen);
    const server = await startServer(dataDir, { TMPDIR: tmp });
    const [socketFolder = '', ...more] = (await readdir(tmp)).filter((name) => join(tmp, name) !== foreseen);
    expect(more).toEqual([]);
    expect((await stat(join(tmp, socketFolder))).mode & 0o777).toBe(0o700);
    const folders = [dataDir, join(tmp, socketFolder)];
    expect(await other.attack('attack', ...folders)).toEqual(NOTHING);
    const taker = other.start('take', ...folders, foreseen);
    await taker.printed(/waiting/);
    expect((await admin(EVE, dataDir, { TMPDIR: tmp })).code).toBe(0);
    expect(taker.stdout).not.toMatch(/connected/);
    server.kill('SIGTERM');
    await server.exited;
    await until('the end of the folder', async () => !(await readdir(tmp)).includes(socketFolder));
  });

  it('where the umask is 0', async () => {
    const { home, tmp } = await sharedMachine();
    const dataDir = join(home, 'data');
    const settings: Settings = { ...AMPLE_TIMEOUTS, DATA_DIR: dataDir, TMPDIR: tmp, PORT: '0' };
    const start = `umask 0; exec "${join(ROOT, 'node_modules/.bin/node')}" "${join(ROOT, 'src/main.ts')}"`;
    const server = runProgram(['/bin/sh', '-c', start], settings);
    await server.printed(/listening/);
    for (const [name, mode] of [
      ['.', 0o700],
      ['.s.PGSQL.5432', 0o600],
      ['demo.json', 0o600],
      ['address.json', 0o600],
      ['postgres', 0o700],
      ['postgres/global/pg_control', 0o600],
    ] as const)
      expect([name, ((await stat(join(dataDir, name))).mode & 0o777).toString(8)]).toEqual([
        name,
        mode.toString(8),
      ]);
    await expectNothing(await otherUser(), dataDir, tmp);
  });

  it('where that user made DATA_DIR beforehand: the service and its commands refuse it', async () => {
    const { tmp } = await sharedMachine();
    const other = await otherUser();
    const dataDir = join(tmp, 'data');
    await other.attack('make', dataDir);
    const { code, stderr } = await launchServer(dataDir, { TMPDIR: tmp }).exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/belongs to another user of this machine/);
    const refused = await admin(EVE, dataDir, { TMPDIR: tmp });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/belongs to another user of this machine/);
    expect(await readdir(dataDir)).toEqual([]);
  });
});

describe('an administration command', () => {
  it('speaks to no socket that may be another user’s, whatever address it finds', async () => {
    const { tmp } = await sharedMachine();
    const other = await otherUser();
    const planted = join(tmp, 'planted');
    await other.attack('make', planted);
    const listener = other.start('listen', planted);
    await listener.printed(/waiting/);
    const dataDir = await temporaryFolder();
    const held = lockFolder(dataDir);
    onTestFinished(() => held.release());
    const link = join(dataDir, 'link');
    await symlink(planted, link);
    for (const host of [planted, link]) {
      publishAddress(dataDir, { host, port: 5432, folder: identityOf(dataDir) });
      const { code, stderr } = await admin(EVE, dataDir);
      expect(code).toBe(1);
      expect(stderr).toMatch(/may be another user's/);
    }
    expect(listener.stdout).not.toMatch(/connected/);
  });
});

describe('a DATA_DIR that others can read or write', () => {
  it.each(['755', '770', '711', '702'])('is refused by production in plain words (mode %s)', async (mode) => {
    const dataDir = await temporaryFolder();
    await chmod(dataDir, Number.parseInt(mode, 8));
    const { code, stderr } = await launchServer(dataDir, productionSettings()).exited;
    expect(code).toBe(1);
    expect(stderr).toContain(`DATA_DIR "${dataDir}" is open to other users`);
    expect(stderr).toContain('chmod');
    expect(await readdir(dataDir)).toEqual([]);
  });

  it('is refused where somebody has put something into it', async () => {
    const { home } = await sharedMachine();
    const dataDir = join(home, 'data');
    await mkdir(dataDir);
    await chmod(dataDir, 0o777);
    await (await otherUser()).attack('make', join(dataDir, 'postgres'));
    const { code, stderr } = await launchServer(dataDir).exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/"postgres" in it belongs to one of them/);
  });
});
