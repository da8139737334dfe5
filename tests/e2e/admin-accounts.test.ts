import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { commitOf } from '../../src/platform/process.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, runShell } from '../support/processes/process.ts';
import { admin, demoKey, type ServerProcess, startServer } from '../support/processes/server.ts';
import { readEventStream } from '../support/streams/event-stream.ts';

const EMAIL = 'eve@example.org';
const PASSWORD = 'a long passphrase';
const EVE = ['user', 'create', '--name', 'Eve', '--email', EMAIL];
const NODE = `${ROOT}/node_modules/.bin/node`;
const ADMIN = `${NODE} ${ROOT}/src/admin/main.ts`;

async function subscribe(server: ServerProcess, key: string) {
  const query = encodeURIComponent('subscription { postCreated { title } }');
  const response = await fetch(`${server.origin}/graphql?query=${query}`, {
    headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` },
  });
  expect(response.status).toBe(200);
  const stream = readEventStream(response);
  await stream.block();
  return stream;
}

describe('two user create with one e-mail at once', () => {
  it('make one account, and the other says in words that it exists', async () => {
    const dataDir = await migratedFolder();
    await startServer(dataDir);
    const create = () => admin([...EVE, '--password', PASSWORD], dataDir);
    const results = await Promise.all([create(), create(), create()]);
    const [made, ...rejected] = results.sort((a, b) => Number(a.code) - Number(b.code));
    expect(made?.code, made?.stderr).toBe(0);
    for (const one of rejected)
      expect(one).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `An account with the e-mail "${EMAIL}" already exists.\n`,
      });
  });
});

describe('beside a server on the embedded database', () => {
  it('credential revoke ends what all accounts have', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { CREDENTIAL_RECHECK_MS: '30000' });
    await admin([...EVE, '--password', PASSWORD], dataDir);
    const create = [
      'api-key',
      'create',
      '--user',
      EMAIL,
      '--name',
      'k',
      '--scopes',
      'posts:read posts:write',
    ];
    const { key } = (await admin(create, dataDir)).json;
    const keys = [key, await demoKey(dataDir)];
    const streams = await Promise.all(keys.map((one) => subscribe(server, one)));
    for (const args of [[], ['--api-keys', '--sessions'], ['--api-keys', '--all']])
      expect(await admin(['credential', 'revoke', ...args], dataDir)).toMatchObject({ code: 2, stdout: '' });
    expect(
      (await admin(['credential', 'revoke', '--api-keys', '--user', 'nobody@example.org'], dataDir)).code,
    ).toBe(1);
    const done = await admin(['credential', 'revoke', '--api-keys'], dataDir);
    expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
    const accounts = (await admin(['user', 'list'], dataDir)).json.length;
    expect(done.json).toEqual({ accounts, revoked: { apiKeys: 2, streamTokens: 0 } });
    for (const stream of streams)
      expect((await stream.next()).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    expect((await server.gql('{ viewer { id } }', { key })).status).toBe(401);
  });
});

/** Loaded into a server, it makes the pause for late requests of a deletion endless: the deletion is still there to be killed. */
const ENDLESS_PAUSE = `data:text/javascript,${encodeURIComponent(`
  import { syncBuiltinESMExports } from 'node:module';
  import timers from 'node:timers/promises';
  const { setTimeout } = timers;
  timers.setTimeout = (ms, ...rest) => setTimeout(ms === 1_000 ? 2 ** 31 - 1 : ms, ...rest);
  syncBuiltinESMExports();`)}`;

describe('user delete --content delete', () => {
  it('that was killed is finished by running it again', async () => {
    const dataDir = await migratedFolder();
    const killed = await startServer(dataDir, { NODE_OPTIONS: `--import=${ENDLESS_PAUSE}` });
    await admin([...EVE, '--password', PASSWORD], dataDir);
    const create = ['api-key', 'create', '--user', EMAIL, '--name', 'k', '--scopes', 'posts:write'];
    const { key } = (await admin(create, dataDir)).json;
    await killed.gql('mutation { createPost(title: "By Eve", body: "b") { id } }', { key });
    const before = await killed.gql('{ posts { author { name } } }', { key: await demoKey(dataDir) });
    expect(before.data.posts[0]).toEqual({ author: { name: 'Eve' } });
    const remove = ['user', 'delete', EMAIL, '--content', 'delete'];
    // The command runs in the process of the server.
    const command = admin(remove, dataDir);
    await expect.poll(async () => (await killed.gql('{ __typename }', { key })).status).toBe(401);
    // The deletion now waits for late requests, before it deletes anything.
    killed.kill('SIGKILL');
    expect(await command).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Check whether the command took effect'),
    });
    const server = await startServer(dataDir);
    const after = await server.gql('{ posts { author { name } } }', { key: await demoKey(dataDir) });
    expect(after.data.posts[0]).toEqual({ author: { name: 'Eve' } });
    for (const args of [
      ['user', 'enable', EMAIL],
      ['user', 'set-role', EMAIL, 'admin'],
    ])
      expect(await admin(args, dataDir)).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `Account "${EMAIL}" is partly deleted. Run "user delete" again to finish.\n`,
      });
    const done = await admin(remove, dataDir);
    expect(done, done.stderr).toMatchObject({ code: 0, json: { deleted: true, deletedPosts: 1 } });
    expect((await admin(remove, dataDir)).code).toBe(1);
  });
});

it('admin --version prints the version and, where anything tells, the commit', async () => {
  const { version } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as { version: string };
  const commit = commitOf(ROOT);
  const stdout = `${version}${commit === null ? '' : ` (${commit})`}\n`;
  expect(await runShell(`${ADMIN} --version`)).toMatchObject({ code: 0, stderr: '', stdout });
});

describe('a reader that has seen enough', () => {
  it.each(['user list', '--help', 'user list --all 2>&1'])('is no failure of %s', async (line) => {
    const settings = { DATA_DIR: await migratedFolder() };
    // `true` reads nothing and is gone before anything is written.
    const run = await runShell(`{ ${ADMIN} ${line}; echo "exit $?" >&3; } 3>&2 | true`, settings);
    expect(run.stderr).toBe(`exit ${line.includes('--all') ? 2 : 0}\n`);
  });
});

describe('a password', () => {
  it('is asked for twice on a terminal, which does not show it', async () => {
    const dataDir = await migratedFolder();
    const typed = `until grep -q 'Password: ' out; do sleep 0.05; done; printf '${PASSWORD}\\r'
      until grep -q 'Again: ' out; do sleep 0.05; done; printf '${PASSWORD}\\r'`;
    // A pseudo-terminal from util-linux.
    const script = `cd '${dataDir}' && : > out && { ${typed}; sleep 60 & echo $! > sleeper; wait; } | { script -qefc "${ADMIN} ${EVE.join(' ')}" out; code=$?; kill $(cat sleeper); exit $code; }`;
    const run = await runShell(script, { DATA_DIR: dataDir });
    expect(run.code, run.stdout + run.stderr).toBe(0);
    expect(run.stdout).toMatch(/^Password: \s+Again: \s+\{\s+"id": "[\w-]+"\s+\}\s+$/);
    const set = await admin(
      ['user', 'set-password', EMAIL, '--password-stdin'],
      dataDir,
      {},
      `${PASSWORD}\r\n`,
    );
    expect(set.code, set.stderr).toBe(0);
  });
});

describe('a mistake', () => {
  const SET = ['user', 'set-password', EMAIL];
  const STDIN = [...SET, '--password-stdin'];
  const NOBODY = 'nobody@example.org';
  const unknown = `Account "${NOBODY}" does not exist. Run "user list" to see all accounts.`;
  const SHORT = 'The password must be 12 to 200 characters long.';
  /** What is wrong, the command, its exit code, its message, and its standard input. */
  const mistakes: [string, string[], 1 | 2, string, string?][] = [
    ['a password of nothing', STDIN, 1, 'Standard input has no password. Nothing was changed.', ''],
    ['an empty line', STDIN, 1, 'Standard input has no password. Nothing was changed.', '\n'],
    [
      'two lines',
      STDIN,
      1,
      'Standard input has more than one line. Nothing was changed.',
      `${PASSWORD}\n${PASSWORD}\n`,
    ],
    [
      'a file',
      STDIN,
      1,
      'Standard input is too long for a password. Nothing was changed.',
      'x'.repeat(10_000),
    ],
    ['a short password', STDIN, 1, SHORT, 'short\n'],
    ['a password of 11 characters after a byte order mark', STDIN, 1, SHORT, '\ufeffabc def ghi\n'],
    ['a short password as an option', [...EVE, '--password', 'short'], 1, SHORT],
    [
      'no password and no terminal',
      SET,
      2,
      'error: there is no terminal to enter the password: use --password-stdin',
    ],
    [
      'the same of a new account',
      EVE,
      2,
      'error: there is no terminal to enter the password: use --password or --password-stdin',
    ],
    [
      'two passwords',
      [...EVE, '--password', PASSWORD, '--password-stdin'],
      2,
      "error: option '--password-stdin' cannot be used with option '--password <password>'",
    ],
    ['an unknown account to enable', ['user', 'enable', NOBODY], 1, unknown],
    ['an unknown account to disable', ['user', 'disable', NOBODY], 1, unknown],
    ['an unknown account to delete', ['user', 'delete', NOBODY, '--content', 'keep'], 1, unknown],
    ['an unknown account for a role', ['user', 'set-role', NOBODY, 'admin'], 1, unknown],
    [
      'an unknown account for a password',
      ['user', 'set-password', NOBODY, '--password-stdin'],
      1,
      unknown,
      PASSWORD,
    ],
    [
      'no e-mail',
      ['user', 'enable', '\u{10FFFF}'],
      1,
      'Account "\u{10FFFF}" does not exist. Run "user list" to see all accounts.',
    ],
    [
      'an unknown role',
      ['user', 'set-role', EMAIL, 'owner'],
      2,
      "error: command-argument value 'owner' is invalid for argument 'role'. Valid roles are member and admin.",
    ],
    ['no role', ['user', 'set-role', EMAIL], 2, "error: missing required argument 'role'"],
    [
      'no word on the posts',
      ['user', 'delete', EMAIL],
      2,
      "error: required option '--content <content>' not specified",
    ],
    [
      'an unknown word on the posts',
      ['user', 'delete', EMAIL, '--content', 'some'],
      2,
      "error: option '--content <content>' argument 'some' is invalid. Allowed choices are keep, delete.",
    ],
    [
      'an unknown key',
      ['api-key', 'revoke', 'x'],
      1,
      'API key "x" does not exist, or is already revoked. Nothing was changed.',
    ],
    [
      'an unknown client',
      ['oauth-client', 'delete', 'x'],
      1,
      'OAuth client "x" does not exist. Nothing was changed.',
    ],
    [
      'an unknown stream token',
      ['stream-token', 'revoke', 'x'],
      1,
      'Stream token "x" does not exist, or has expired or been revoked. Nothing was changed.',
    ],
    [
      'an unknown signing key',
      ['signing-key', 'revoke', 'x'],
      1,
      'Signing key "x" does not exist. Nothing was changed.',
    ],
    ['sessions of nobody', ['session', 'revoke', '--user', NOBODY], 1, unknown],
    [
      'a token without a jti',
      ['jwt', 'revoke', ''],
      1,
      'A jti must have 1 to 255 characters, but has 0. Nothing was changed.',
    ],
    [
      'a setting that is wrong',
      ['user', 'list'],
      1,
      'The settings have an error:\n  - PORT must be a whole number from 0 to 65535, but is "many".',
    ],
  ];
  it('is told in words, without a stack, and with the exit code of its kind', async () => {
    const dataDir = await migratedFolder();
    // The commands share it: a folder alone admits one at a time.
    await startServer(dataDir);
    const waiting = [...mistakes];
    const worker = async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const [name, args, code, message, input] = one;
        const settings = name === 'a setting that is wrong' ? { PORT: 'many' } : {};
        const { stdout, stderr, code: exit } = await admin(args, dataDir, settings, input);
        const hint = code === 2 ? '(add --help for usage)\n' : '';
        expect({ name, exit, stdout, stderr }).toEqual({
          name,
          exit: code,
          stdout: '',
          stderr: `${message}\n${hint}`,
        });
      }
    };
    await Promise.all([worker(), worker(), worker()]);
  });
});
