import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, runProgram, temporaryFolder } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';
import { lines } from '../support/processes/started.ts';

describe('settings', () => {
  it('names all mistakes at once in plain words, touches nothing and exits 1', async () => {
    const dataDir = join(await migratedFolder(), 'never');
    const mistakes = {
      PORT: 'many',
      PUBLIC_URL: 'https://api.example.com/path',
      DATABASE_URL: 'mysql://localhost/x',
      TRUST_PROXY: 'everyone',
      CORS_ORIGINS: 'example.com',
      SECRET_KEY: 'short',
      ANONYMOUS_READ: 'yes',
      INTROSPECTION: '1',
      SHUTDOWN_DELAY_SECONDS: '-1',
      LOG_LEVEL: 'loud',
    };
    const { code, stdout, stderr } = await launchServer(dataDir, mistakes).exited;
    expect(code).toBe(1);
    expect(stdout).toBe('');
    for (const name of Object.keys(mistakes)) expect(stderr).toMatch(new RegExp(`^ *- ${name} must be`, 'm'));
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(existsSync(dataDir)).toBe(false);
  });

  it('come from .env in the working folder, and the environment wins', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.env'), 'PORT=from-file\nLOG_LEVEL=from-file\n');
    const program = [join(ROOT, 'node_modules/.bin/node'), join(ROOT, 'src/main.ts')];
    const { code, stderr } = await runProgram(program, { LOG_LEVEL: 'info' }, folder).exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(/PORT must be/);
    expect(stderr).not.toMatch(/LOG_LEVEL must be/);
  });

  const MARK = '\ufeff';
  it.each([
    ['UTF-8 with a byte order mark', (text: string) => Buffer.from(MARK + text)],
    ['UTF-16', (text: string) => Buffer.from(MARK + text, 'utf16le')],
    ['UTF-16 with the high byte first', (text: string) => Buffer.from(MARK + text, 'utf16le').swap16()],
  ])('come from files in %s', async (_name, encode) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.env'), encode('PORT=from-file\nGRAPHIQL=from-file\n'));
    await writeFile(join(folder, 'token'), encode('sixteen letters?\n'));
    await writeFile(join(folder, 'url'), encode('mysql://127.0.0.1/content\n'));
    const program = [join(ROOT, 'node_modules/.bin/node'), join(ROOT, 'src/main.ts')];
    const files = { METRICS_TOKEN_FILE: join(folder, 'token'), DATABASE_URL_FILE: join(folder, 'url') };
    const { code, stderr } = await runProgram(program, { LOG_LEVEL: 'loud', ...files }, folder).exited;
    expect(code).toBe(1);
    const named = [...stderr.matchAll(/^ *- (\w+) must/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual(['DATABASE_URL', 'GRAPHIQL', 'LOG_LEVEL', 'PORT']);
  });

  it.each([
    ['another encoding', Buffer.from('PORT=4000\nJWT_ISSUER=b\u00fccher\n', 'latin1')],
    ['UTF-16 without a byte order mark', Buffer.from('PORT=4000\n', 'utf16le')],
  ])('in %s are rejected', async (_name, bytes) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.env'), bytes);
    const program = [join(ROOT, 'node_modules/.bin/node'), join(ROOT, 'src/main.ts')];
    const said = await runProgram(program, { LOG_LEVEL: 'loud' }, folder).exited;
    expect(said).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/The file \.env is not text in UTF-8/),
    });
    const settings = { LOG_LEVEL: 'loud', SECRET_KEY_FILE: join(folder, '.env') };
    expect((await launchServer('', settings).exited).stderr).toMatch(
      /SECRET_KEY_FILE names the file ".*\.env", which is not text in UTF-8/,
    );
  });

  it('that nobody knows are named in the log with the setting that is meant', async () => {
    const misspelled = { LOG_LEVL: 'debug', DATABASE_URI: 'x', PUBLIC_URL_FILE: 'x', SECRETKEY: 'x' };
    const server = await startServer(await migratedFolder(), {
      ...{ ...productionSettings(), ...misspelled },
      ...{ HOSTNAME: 'x', PORTAL: 'x', HOMES: 'x' },
    });
    const named = lines(server).flatMap(({ event, ...line }) =>
      event === 'service.unknown_setting' ? [line] : [],
    );
    expect(named).toMatchObject([
      { level: 40, variable: 'LOG_LEVL', meant: 'LOG_LEVEL' },
      { variable: 'DATABASE_URI', meant: 'DATABASE_URL' },
      { variable: 'PUBLIC_URL_FILE', meant: 'PUBLIC_URL' },
      { variable: 'SECRETKEY', meant: 'SECRET_KEY' },
    ]);
  });

  it('are rejected in the same way by the admin command', async () => {
    const dataDir = await migratedFolder();
    const { code, stdout, stderr } = await admin(['user', 'list'], dataDir, { PORT: 'many', GRAPHIQL: 'on' });
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/PORT must be/);
    expect(stderr).toMatch(/GRAPHIQL must be/);
  });
});

describe('NODE_ENV=production', () => {
  const { SECRET_KEY: _, ...withoutSecret } = productionSettings();
  const cases: [string, Record<string, string>, RegExp][] = [
    ['no SECRET_KEY', {}, /SECRET_KEY is required/],
    ['a short SECRET_KEY', { SECRET_KEY: randomBytes(12).toString('hex') }, /SECRET_KEY must be at least 32/],
    ['a SECRET_KEY of one piece repeated', { SECRET_KEY: '0123456789'.repeat(4) }, /SECRET_KEY is weak/],
    ['a SECRET_KEY of one character', { SECRET_KEY: 'x'.repeat(64) }, /SECRET_KEY is weak/],
    [
      'a SECRET_KEY from an example',
      { SECRET_KEY: `changeme-${'0123456789'.repeat(4)}` },
      /SECRET_KEY is weak/,
    ],
  ];
  it.each(cases)('rejects to start with %s', async (_name, settings, message) => {
    const { code, stderr } = await launchServer(await migratedFolder(), { ...withoutSecret, ...settings })
      .exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  it('seeds nothing, prints no credentials, and has introspection and GraphiQL off', async () => {
    const dataDir = await migratedFolder();
    const settings = productionSettings();
    const server = await startServer(dataDir, settings);
    expect(existsSync(join(dataDir, 'demo.json'))).toBe(false);
    expect(server.stdout).not.toMatch(/cga_|password|curl/i);
    expect((await admin(['user', 'list'], dataDir, settings)).json).toEqual([]);
    const email = 'op@example.com';
    await admin(
      ['user', 'create', '--name', 'Op', '--email', email, '--password', 'a long passphrase'],
      dataDir,
      settings,
    );
    const { json } = await admin(
      ['api-key', 'create', '--user', email, '--name', 'k', '--scopes', 'posts:read users:read'],
      dataDir,
      settings,
    );
    expect((await server.gql('{ posts { id } viewer { name } }', { key: json.key })).data).toEqual({
      posts: [],
      viewer: { name: 'Op' },
    });
    const introspection = '{ __schema { queryType { name } } }';
    expect((await server.gql(introspection)).status).toBe(401);
    const rejected = await server.gql(introspection, { key: json.key });
    expect(rejected.data).toBeUndefined();
    expect(rejected.errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    const page = await fetch(`${server.origin}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.headers.get('content-type')).not.toMatch(/html/);
    expect(page.status).toBeGreaterThanOrEqual(400);
  });
});
