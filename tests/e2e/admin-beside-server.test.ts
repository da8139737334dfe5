import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { startLoop, temporaryFolder, until } from '../support/processes/process.ts';
import { admin, demoKey, launchServer, startServer } from '../support/processes/server.ts';

const user = (email: string) =>
  ['user', 'create', '--name', 'Eve', '--email', email, '--password', 'a long passphrase'] as const;
const emails = (result: { json: { email: string }[] }) => result.json.map(({ email }) => email);

describe('the admin command beside a server on the embedded database', () => {
  it('makes accounts and keys that work at once, and ends them within a second', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    expect((await admin(user('eve@example.org'), dataDir)).code).toBe(0);
    const create = 'api-key create --user eve@example.org --name k --scopes users:read'.split(' ');
    const [first, second] = [await admin(create, dataDir), await admin(create, dataDir)];
    const status = async (key: string) => (await server.gql('{ viewer { name } }', { key })).status;
    expect(await status(first.json.key)).toBe(200);
    expect(await status(second.json.key)).toBe(200);

    expect((await admin(['api-key', 'revoke', first.json.id], dataDir)).code).toBe(0);
    await until('the end of the key', async () => (await status(first.json.key)) === 401);
    expect(await status(second.json.key)).toBe(200);
    expect((await admin(['user', 'disable', 'eve@example.org'], dataDir)).code).toBe(0);
    await until('the end of the account', async () => (await status(second.json.key)) === 401);
    expect((await admin(['database', 'migrate'], dataDir)).json).toEqual({ applied: [] });
    expect(server.stderr).toBe('');
  });

  it('disturbs none of the requests that run meanwhile', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { RATE_LIMIT_BURST: '1000000' });
    const key = await demoKey(dataDir);
    let requests = 0;
    const call = async (index: number) => {
      const title = `${index}-${requests}`;
      const response = await server.gql(
        'mutation ($title: String!) { createPost(title: $title, body: "b") { title author { name } } }',
        { key, variables: { title } },
      );
      expect(response.data?.createPost, JSON.stringify(response.errors)).toEqual({
        title,
        author: { name: 'Ada' },
      });
      requests += 1;
    };
    const calls = [1, 2, 3].map((index) => startLoop(() => call(index)));
    const results = await Promise.all([1, 2, 3].map((n) => admin(user(`eve${n}@example.org`), dataDir)));
    await Promise.all(calls.map(({ stop }) => stop()));
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      results.map(() => ({ code: 0, stderr: '' })),
    );
    expect(requests).toBeGreaterThan(0);
  });

  it('waits for a server that is just starting', async () => {
    const dataDir = await temporaryFolder();
    const server = launchServer(dataDir);
    await until('the server to make the database', () => existsSync(join(dataDir, 'postgres')));
    const made = await admin(user('eve@example.org'), dataDir);
    expect(made.code, made.stderr).toBe(0);
    await server.printed(/service\.started/);
    expect(emails(await admin(['user', 'list'], dataDir))).toContain('eve@example.org');
  });

  it('takes the folder over from a server that was killed', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    server.kill('SIGKILL');
    const made = await admin(user('eve@example.org'), dataDir);
    expect(made.code, made.stderr).toBe(0);
    expect(emails(await admin(['user', 'list'], dataDir))).toContain('eve@example.org');
  });

  it('gives up on a server that holds the folder and does not answer', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    server.kill('SIGSTOP');
    const rejected = await admin(user('eve@example.org'), dataDir);
    expect(rejected).toMatchObject({ code: 1, stdout: '' });
    expect(rejected.stderr).toMatch(new RegExp(`"${dataDir}" does not respond. Nothing was changed.`));
    server.kill('SIGCONT');
    expect(emails(await admin(['user', 'list'], dataDir))).not.toContain('eve@example.org');
  });
});

describe('admin commands beside each other', () => {
  it('take turns on a folder without a server', async () => {
    const dataDir = await migratedFolder();
    const wanted = ['a@example.org', 'b@example.org', 'c@example.org'];
    const results = await Promise.all(wanted.map((email) => admin(user(email), dataDir)));
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      wanted.map(() => ({ code: 0, stderr: '' })),
    );
    expect(emails(await admin(['user', 'list'], dataDir)).sort()).toEqual(wanted);
  });
});
