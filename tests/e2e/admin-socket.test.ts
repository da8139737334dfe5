import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { fillFolder, migratedFolder } from '../support/processes/migrated-folder.ts';
import { otherUser } from '../support/processes/other-user.ts';
import { runScript, temporaryFolder, until } from '../support/processes/process.ts';
import { admin, startServer } from '../support/processes/server.ts';

const EVE = 'eve@example.org';
const create = (email: string) =>
  ['user', 'create', '--name', 'Eve', '--email', email, '--password', 'a long passphrase'] as const;
const BEGUN = /admin\.command_started/;
/** It takes a second, in which it waits for late requests. */
const REMOVE = ['user', 'delete', EVE, '--content', 'keep'] as const;

/** A server with Eve's account, and a command that is just deleting it. */
async function startDeletion() {
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir);
  expect((await admin(create(EVE), dataDir)).code).toBe(0);
  await server.printed(BEGUN);
  const command = runScript('src/admin/main.ts', REMOVE, { DATA_DIR: dataDir });
  await until('the command', () => server.stdout.split('admin.command_started').length === 3);
  return { dataDir, server, command };
}

const emails = async (dataDir: string): Promise<string[]> =>
  (await admin(['user', 'list'], dataDir)).json.map(({ email }: { email: string }) => email);

/** What the audit log has of accounts that were created: by whom, and why. */
const operators = async (dataDir: string) =>
  (await admin(['audit', 'list', '--action', 'user.create'], dataDir)).json.map(
    ({ detail }: { detail: { operator: { user: string; reason?: string } } }) =>
      `${detail.operator.user} ${detail.operator.reason}`,
  );

describe('An admin command in the process of a running server', () => {
  it('is for root and the owner of the folder, and the audit log names the user of the client', async () => {
    const dataDir = join(await temporaryFolder(), 'data');
    await fillFolder(dataDir);
    const other = await otherUser();
    other.own(join(dataDir, '..'));
    await other.serve(dataDir).printed(/service\.started/);
    const asRoot = await admin([...create('a@example.org'), '--reason', 'r'], dataDir, { SUDO_USER: '' });
    expect(asRoot, asRoot.stderr).toMatchObject({ code: 0 });
    const asOwner = await other.admin([...create('b@example.org'), '--reason', 'o'], dataDir);
    expect(asOwner, asOwner.stderr).toMatchObject({ code: 0 });
    expect(await operators(dataDir)).toEqual([`${userInfo().username} r`, 'nobody o']);
  });

  it('is rejected to other users of the machine', async () => {
    const dataDir = await migratedFolder();
    await startServer(dataDir);
    const rejected = await (await otherUser()).admin(['user', 'list'], dataDir);
    expect(rejected).toMatchObject({ code: 1, stdout: '' });
    expect(rejected.stderr).toContain(`DATA_DIR "${dataDir}"`);
  });

  it('shares the server with other commands, each with its own operator, whatever the length of the path', async () => {
    const dataDir = join(await temporaryFolder(), 'd'.repeat(200));
    await fillFolder(dataDir);
    const server = await startServer(dataDir);
    const users = ['ada', 'bob', 'cy', 'dan'];
    const results = await Promise.all(
      users.map((user) =>
        admin([...create(`${user}@example.org`), '--reason', `by ${user}`], dataDir, { SUDO_USER: user }),
      ),
    );
    expect(results.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      users.map(() => ({ code: 0, stderr: '' })),
    );
    expect((await operators(dataDir)).sort()).toEqual(users.map((user) => `${user} by ${user}`));
    expect(server.stdout.split('admin.command_started')).toHaveLength(users.length + 2);
  });

  it('says that it may have taken effect when the server is killed', async () => {
    const { server, command } = await startDeletion();
    server.kill('SIGKILL');
    const { code, stdout, stderr } = await command.exited;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^The server stopped before the command was finished\. Check whether/);
  });

  it('ends before a server that is stopped', async () => {
    const { server, command } = await startDeletion();
    server.kill('SIGTERM');
    expect(await command.exited).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('true'),
    });
    expect((await server.exited).code).toBe(0);
  });

  it('runs to its end when its client is killed', async () => {
    const { dataDir, command } = await startDeletion();
    command.kill('SIGKILL');
    await until('the end of the account', async () => !(await emails(dataDir)).includes(EVE));
  });

  it('takes its password and its files from the client', async () => {
    const dataDir = await migratedFolder();
    await startServer(dataDir);
    const byStdin = ['user', 'create', '--name', 'Eve', '--email', EVE, '--password-stdin'];
    expect((await admin(byStdin, dataDir, {}, 'a long passphrase\n')).code).toBe(0);
    const publish = ['document', 'publish', 'no-such-file.json', '--client', 'web'];
    const failed = await admin(publish, dataDir);
    expect(failed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no-such-file.json cannot be read'),
    });
  });

  it('is understood, or nothing happens: the server goes on after other input', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const send = async (input: string) => {
      const socket = connect(join(dataDir, 'admin.sock'));
      socket.end(input);
      return text(socket);
    };
    expect(await send('{"args":["user","list"]}\n')).toContain('does not understand the command');
    for (const input of ['\n', 'GET / HTTP/1.1\r\n\r\n', '[]\n', `${'\0'.repeat(100_000)}\n`])
      expect(await send(input), input.slice(0, 20)).toContain('"exitCode":1');
    for (const input of ['', '{"args":', '\0']) expect(await send(input)).toBe('{"ready":true}\n');
    expect(await emails(dataDir)).toContain('ada@example.com');
    expect((await fetch(`${server.origin}/health/ready`)).status).toBe(200);
  });
});

describe('admin sql', () => {
  it('prints the rows of one statement that writes nothing, with a server and without', async () => {
    const dataDir = await migratedFolder();
    const sql = (statement: string) => admin(['sql', statement], dataDir);
    const server = await startServer(dataDir);
    for (const beside of [true, false]) {
      if (!beside) {
        server.kill('SIGTERM');
        await server.exited;
      }
      expect((await sql('SELECT name, email FROM users ORDER BY name;')).json[0]).toEqual({
        ...{ name: 'Ada', email: 'ada@example.com' },
      });
      expect((await sql('EXPLAIN SELECT 1')).json).toHaveLength(1);
      const many = await sql('SELECT n FROM generate_series(1, 1001) AS n');
      expect(many).toMatchObject({ code: 0, stderr: expect.stringContaining('more than 1000 rows') });
      expect(many.json).toHaveLength(1_000);
      for (const rejected of [
        'DELETE FROM posts',
        'SELECT 1; DELETE FROM posts',
        'WITH gone AS (DELETE FROM posts RETURNING 1) SELECT * FROM gone',
        'EXPLAIN ANALYZE DELETE FROM posts',
        "SELECT setval('events_id_seq', 1)",
        'COMMIT',
      ])
        expect(await sql(rejected), rejected).toMatchObject({
          ...{
            code: 1,
            stdout: '',
            stderr: expect.stringMatching(/^PostgreSQL rejected the statement: [^\n]+\.\n$/),
          },
        });
      expect((await sql('SELECT count(*) > 0 AS here FROM posts')).json).toEqual([{ here: true }]);
    }
  });
});
