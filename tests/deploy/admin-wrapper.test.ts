import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { type Exit, ROOT, runProgram, type Settings, temporaryFolder } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';
import { root } from './support/sandbox.ts';

const NODE = process.execPath;
const WRAPPER = join(ROOT, 'deploy/content-graph-admin');
const COMMAND = join(ROOT, 'src/admin/main.ts');
const { SECRET_KEY = '', PUBLIC_URL = '' } = productionSettings();
const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

/** A folder that stands for /etc of a machine with an installation on this database, until the end of the test. */
async function installation(databaseUrl: string | undefined, settings: Settings = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-etc-'));
  onTestFinished(async () => void (await root('rm', '--recursive', '--force', folder)));
  const [etc, own] = [join(folder, 'etc'), join(folder, 'content-graph')];
  await root('cp', '--archive', '/etc', etc);
  await mkdir(own);
  const lines = Object.entries({ DATABASE_POOL_SIZE: '3', PUBLIC_URL, ...settings });
  const text = lines.map(([name, value]) => `${name}=${value}\n`).join('');
  // Editors of Windows begin a file with a byte order mark.
  await writeFile(join(own, 'settings.env'), `\ufeff${text}`);
  for (const [name, value] of Object.entries({ 'secret-key': SECRET_KEY, 'database-url': databaseUrl }))
    if (value !== undefined) await writeFile(join(own, name), `${value}\n`, { mode: 0o600 });
  await root('cp', '--recursive', '--preserve=mode', own, join(etc, 'content-graph'));
  return etc;
}

/** Runs a program in a folder of a machine whose /etc is that of the installation, as root or as nobody. */
function onMachine(
  etc: string,
  cwd: string,
  command: readonly string[],
  user: 'root' | 'nobody' = 'root',
): Promise<Exit> {
  const as = user === 'root' ? [] : ['/usr/bin/setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  const line = 'mount --bind "$0" /etc && exec "$@"';
  return runProgram([...asRoot, 'unshare', '--mount', 'sh', '-c', line, etc, ...as, ...command], {}, cwd)
    .exited;
}

it('In whatever folder, it has the settings and the secrets of the installation, and leaves nothing there', async () => {
  const { url, drop } = await createEmptyDatabase('wrapper');
  onTestFinished(drop);
  const etc = await installation(url);
  const cwd = await temporaryFolder();
  // As the pages have it: a link to a link.
  const installed = join(await temporaryFolder(), 'content-graph');
  await symlink(ROOT, installed);
  const link = join(await temporaryFolder(), 'content-graph-admin');
  await symlink(join(installed, 'deploy/content-graph-admin'), link);
  const migrated = await onMachine(etc, cwd, [NODE, link, 'database', 'migrate']);
  expect(migrated, migrated.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(migrated.stdout).applied.length).toBeGreaterThan(10);
  const person = ['--name', 'Ada', '--email', 'ada@example.com', '--password', 'a long password'];
  const made = await onMachine(etc, cwd, [NODE, link, 'user', 'create', ...person]);
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const doctor = await onMachine(etc, cwd, [NODE, link, 'doctor']);
  expect(JSON.parse(doctor.stdout)).toContainEqual(
    expect.objectContaining({
      check: 'pool',
      status: 'ok',
      finding: expect.stringContaining('an instance takes up to 6 connections'),
    }),
  );
  expect(existsSync(join(cwd, '.data'))).toBe(false);
});

it('With the embedded database it runs as the owner of DATA_DIR, who alone may open the database', async () => {
  const open = await temporaryFolder();
  await chmod(open, 0o755);
  const dataDir = join(open, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  await root('chown', '65534:65534', dataDir);
  onTestFinished(async () => void (await root('rm', '--recursive', '--force', dataDir)));
  const etc = await installation(undefined, { DATA_DIR: dataDir });
  // The owner can read the program, wherever the project is.
  const program = join(open, 'program');
  await mkdir(program);
  const wrapper = ['deploy/content-graph-admin', 'user', 'list'].join(' ');
  const line = `mount --bind ${ROOT} ${program} && exec ${program}/node_modules/node/bin/node ${program}/${wrapper}`;
  const listed = await onMachine(etc, '/', ['sh', '-c', line]);
  expect(listed, listed.stderr).toMatchObject({ code: 0, stdout: '[]\n' });
  expect(await root('find', dataDir, '-not', '-user', '65534')).toBe('');
  expect(await root('find', dataDir, '-name', 'PG_VERSION', '-user', '65534')).toContain(dataDir);
});

it('Without root it says that the secrets are for root, and does nothing', async () => {
  // Wherever the project is, nobody gets to this.
  const open = await temporaryFolder();
  await chmod(open, 0o755);
  const [node, wrapper] = [join(open, 'node'), join(open, 'content-graph-admin')];
  await copyFile(NODE, node);
  await copyFile(WRAPPER, wrapper);
  const etc = await installation('postgres://nobody@127.0.0.1/none');
  expect(await onMachine(etc, '/', [node, wrapper, 'user', 'list'], 'nobody')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'The secrets in /etc/content-graph are for root alone: run this with sudo.\n',
  });
});

it('A command without settings, where an installation has some, creates no database and says what to run', async () => {
  const etc = await installation('postgres://nobody@127.0.0.1/none');
  const cwd = await temporaryFolder();
  const rejected = await onMachine(etc, cwd, [NODE, COMMAND, 'user', 'list']);
  expect(rejected).toMatchObject({ code: 1, stdout: '' });
  expect(rejected.stderr).toContain('Run "content-graph-admin" with the same options');
  expect(existsSync(join(cwd, '.data'))).toBe(false);
  const meant = await onMachine(etc, cwd, ['env', 'DATA_DIR=./.data', NODE, COMMAND, 'user', 'list']);
  expect(meant, meant.stderr).toMatchObject({ code: 0, stdout: '[]\n' });
});
