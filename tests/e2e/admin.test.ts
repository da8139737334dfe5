import { hostname, userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { runShell, temporaryFolder } from '../support/processes/process.ts';
import { admin, startServer } from '../support/processes/server.ts';

const ADA = ['--name', 'Ada', '--email', 'ada@example.org', '--password', 'a long passphrase'];
const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/);

describe('npm run -s admin', () => {
  it('prints JSON and nothing else, on a folder that no server has ever had', async () => {
    const DATA_DIR = await migratedFolder();
    // Empty settings count as not set: whatever the developer's .env says, the folder is the test's.
    const settings = { DATA_DIR, DATABASE_URL: '', DIRECT_DATABASE_URL: '', NODE_ENV: '' };
    const listed = await runShell('npm run -s admin -- user list', settings);
    expect(listed.code, listed.stderr).toBe(0);
    expect(JSON.parse(listed.stdout)).toEqual([]);
    const migrated = await runShell('npm run -s db:migrate', settings);
    expect(migrated.code, migrated.stderr).toBe(0);
    expect(JSON.parse(migrated.stdout)).toEqual({ applied: [] });
    expect((await runShell('npm run -s admin -- user lst', settings)).code).toBe(2);
  });
});

describe('admin database migrate', () => {
  it('applies what is pending, names it, and leaves an entry in the audit log of the database', async () => {
    const dataDir = await temporaryFolder();
    const { code, json } = await admin(['database', 'migrate', '--reason', 'release 2'], dataDir, {
      SUDO_USER: 'grace',
    });
    expect(code).toBe(0);
    expect(json.applied[0]).toMatch(/^\d{14}_/);
    expect((await admin(['database', 'migrate'], dataDir)).json).toEqual({ applied: [] });
    const operator = { user: 'grace', host: hostname(), reason: 'release 2' };
    expect((await admin(['audit', 'list'], dataDir)).json).toMatchObject([
      {
        actor: null,
        via: 'command',
        action: 'database.migrate',
        detail: { applied: json.applied, operator },
      },
    ]);
    await admin(['event-log', 'reset'], dataDir);
    expect(
      (await admin(['audit', 'list', '--action', 'event-log.reset'], dataDir)).json[0].detail.operator,
    ).toEqual({
      ...{ user: userInfo().username, host: hostname() },
    });
  });
});

describe('admin user', () => {
  it('creates accounts, members unless told otherwise, and lists them', async () => {
    const dataDir = await migratedFolder();
    const ada = await admin(['user', 'create', ...ADA], dataDir);
    expect(ada).toMatchObject({ code: 0, stderr: '', json: { id: UUID } });
    const root = await admin(
      ['user', 'create', ...ADA, '--email', 'root@example.org', '--role', 'admin'],
      dataDir,
    );
    expect((await admin(['user', 'list'], dataDir)).json).toEqual([
      { id: ada.json.id, name: 'Ada', email: 'ada@example.org', role: 'member', disabled: false },
      { id: root.json.id, name: 'Ada', email: 'root@example.org', role: 'admin', disabled: false },
    ]);
    const taken = await admin(['user', 'create', ...ADA, '--email', 'ADA@example.org'], dataDir);
    expect(taken).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('ADA@example.org') });
  });
});

describe('admin api-key', () => {
  it('creates a key that works, lists it without its secret, and revokes it', async () => {
    const dataDir = await migratedFolder();
    await admin(['user', 'create', ...ADA], dataDir);
    const create = ['api-key', 'create', '--user', 'ada@example.org', '--name', 'CI', '--scopes'];
    const expires = '2999-01-31T12:00:00+02:00';
    const made = await admin([...create, 'posts:read  users:read', '--expires', expires], dataDir);
    expect(made).toMatchObject({ code: 0, stderr: '', json: { id: UUID, key: expect.any(String) } });
    const { id, key } = made.json;
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    expect(await admin([...create, 'posts:read', '--expires', hourAgo], dataDir)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('must be in the future'),
    });
    const listed = await admin(['api-key', 'list'], dataDir);
    expect(listed.json).toEqual([
      {
        id,
        name: 'CI',
        user: 'ada@example.org',
        prefix: key.slice(0, 10),
        scopes: ['posts:read', 'users:read'],
        createdAt: expect.any(String),
        lastUsedAt: null,
        expiresAt: '2999-01-31T10:00:00.000Z',
        revokedAt: null,
        suspendedAt: null,
      },
    ]);
    expect(listed.stdout).not.toContain(key);
    const server = await startServer(dataDir);
    expect((await server.gql('{ viewer { name } }', { key })).data).toEqual({ viewer: { name: 'Ada' } });
    server.kill('SIGTERM');
    await server.exited;
    expect(await admin(['api-key', 'revoke', id], dataDir)).toMatchObject({ code: 0, json: { id } });
    expect(await admin(['api-key', 'revoke', id], dataDir)).toMatchObject({ code: 1, stdout: '' });
    expect(await admin(['api-key', 'revoke', 'no-uuid'], dataDir)).toMatchObject({ code: 1, stdout: '' });
  });

  it('fails with 1 where the account cannot hold the scopes, is disabled, or is not there', async () => {
    const dataDir = await migratedFolder();
    await admin(['user', 'create', ...ADA], dataDir);
    const create = (email: string, scopes: string) =>
      admin(['api-key', 'create', '--user', email, '--name', 'k', '--scopes', scopes], dataDir);
    expect(await create('ada@example.org', 'posts:read users:email')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('users:email'),
    });
    expect(await create('nobody@example.org', 'posts:read')).toMatchObject({ code: 1, stdout: '' });
    expect((await admin(['user', 'disable', 'ADA@example.org'], dataDir)).code).toBe(0);
    expect(await create('ada@example.org', 'posts:read')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('disabled'),
    });
    expect((await admin(['api-key', 'list'], dataDir)).json).toEqual([]);
  });
});

describe('admin usage', () => {
  const KEY = ['api-key', 'create', '--user', 'ada@example.org', '--name', 'k'];
  const mistakes: [string, string[]][] = [
    ['no command', []],
    ['half a command', ['user']],
    ['an unknown command', ['users']],
    ['an unknown subcommand', ['user', 'delete']],
    ['an unknown option', ['user', 'list', '--all']],
    ['an argument too many', ['user', 'list', 'all']],
    ['an argument too few', ['user', 'disable']],
    ['a missing option', ['user', 'create', '--name', 'Ada', '--email', 'ada@example.org']],
    ['an unknown role', ['user', 'create', ...ADA, '--role', 'owner']],
    ['an unknown scope', [...KEY, '--scopes', 'posts:read posts:fly']],
    ['no scope', [...KEY, '--scopes', ' ']],
    ['a nameless key', [...KEY, '--name', ' ', '--scopes', 'posts:read']],
    ['an expiry that is no time', [...KEY, '--scopes', 'posts:read', '--expires', 'tomorrow']],
    ['an expiry on no day', [...KEY, '--scopes', 'posts:read', '--expires', '2999-02-30']],
    ['a burst of nothing', [...KEY, '--scopes', 'posts:read', '--burst', '0']],
    ['half a burst', [...KEY, '--scopes', 'posts:read', '--burst', '1.5']],
    ['a rate of nothing', [...KEY, '--scopes', 'posts:read', '--per-second', '0']],
    ['a rate that is no number', [...KEY, '--scopes', 'posts:read', '--per-second', 'many']],
    ['an expiry in the past', [...KEY, '--scopes', 'posts:read', '--expires', '2001-01-01T00:00:00Z']],
  ];
  it.each(mistakes)(
    'exits 2 for %s, with a message and without a look at the database',
    async (_name, args) => {
      // Settings that no command would go on with: a usage error comes first.
      const result = await admin(args, await migratedFolder(), { PORT: 'many' });
      expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/\S/) });
    },
  );
});
