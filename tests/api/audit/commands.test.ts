import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../../src/admin/program.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { actions, type Entry, entries } from '../../support/audit.ts';
import { PASSWORD } from '../../support/credentials/session.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { temporaryFolder } from '../../support/processes/process.ts';

const app = useApp();
const EMAIL = 'grace@example.com';

/** They change nothing, or run without an open database: tests of their own look at these. */
const READ = [
  'user.list',
  'user.export',
  'api-key.list',
  'api-key.show',
  'stream-token.list',
  'oauth-client.list',
];
const READ_TOO = [
  'signing-key.list',
  'document.list',
  'document.list-unpublished',
  'audit.list',
  'top',
  'sql',
  'block.list',
  'deprecation.list-usage',
  'deprecation.report',
  'doctor',
  'database.backup',
];
const ALONE = ['database.migrate', 'database.restore', 'database.copy-to'];

/** The names of all commands, as the audit log has them. */
function namesOf({ commands }: Command, before = ''): string[] {
  return commands.flatMap((command) => {
    const name = `${before}${command.name()}`;
    return command.commands.length === 0 ? [name] : namesOf(command, `${name}.`);
  });
}

/** Runs a command that is to succeed, and returns what it prints and what it has left in the audit log. */
async function run(...args: readonly string[]) {
  const before = (await entries(app)).length;
  const { json, failure } = await adminCommand(app, args);
  expect(failure).toBeUndefined();
  return { json, left: (await entries(app)).slice(before) };
}

it('Each command that changes something leaves its entry, and no e-mail, name or secret in it', async () => {
  const done = new Map<string, readonly Entry[]>();
  const did = async (name: string, ...options: readonly string[]) => {
    const { json, left } = await run(...name.split('.'), ...options);
    done.set(name, [...(done.get(name) ?? []), ...left]);
    return { json, left };
  };
  const made = await did('user.create', '--name', 'Grace', '--email', EMAIL, '--password', PASSWORD);
  const account = made.json.id;
  expect(made.left).toEqual([
    {
      at: expect.stringMatching(/^\d{4}-.*Z$/),
      actor: null,
      via: 'command',
      action: 'user.create',
      subject: account,
      detail: { account, role: 'member', operator: { user: expect.stringMatching(/./), host: hostname() } },
      requestId: null,
    },
  ]);
  const { json: invited, left: inviting } = await did(
    'user.invite',
    'invited@example.com',
    '--name',
    'Invited',
  );
  expect(inviting).toMatchObject([{ subject: invited.id, detail: { account: invited.id } }]);
  await adminCommand(app, ['user', 'delete', 'invited@example.com', '--content', 'delete']);
  expect((await did('user.create-reset-link', EMAIL)).left).toMatchObject([
    { subject: account, detail: { account } },
  ]);
  const keyOf = ['--user', EMAIL, '--name', 'k', '--scopes', 'posts:read'] as const;
  const { json: key, left: keyed } = await did('api-key.create', ...keyOf);
  expect(keyed).toMatchObject([{ subject: key.id, detail: { account, scopes: ['posts:read'] } }]);
  const query = 'subscription { postCreated { id } }';
  await app.fetch('/graphql/stream-token', graphqlPost(query, { key: key.key }));
  const { json: tokens } = await adminCommand(app, ['stream-token', 'list']);
  expect((await did('stream-token.revoke', tokens[0].id)).left).toMatchObject([
    { subject: tokens[0].id, detail: { account } },
  ]);
  const limits = ['--burst', '7', '--per-second', '0.5'];
  const limited = { account, burst: 7, perSecond: 0.5 };
  expect((await did('api-key.set-limits', key.id, ...limits)).left).toMatchObject([
    { subject: key.id, detail: limited },
  ]);
  expect((await did('user.set-limits', EMAIL, ...limits)).left).toMatchObject([
    { subject: account, detail: limited },
  ]);
  const subject = ['--issuer', 'https://login.example.com', '--subject', 'a-subject'];
  for (const name of ['user.link', 'user.unlink'])
    expect((await did(name, EMAIL, ...subject)).left).toMatchObject([
      { subject: account, detail: { account, issuer: 'https://login.example.com' } },
    ]);
  for (const name of ['api-key.suspend', 'api-key.resume'])
    expect((await did(name, key.id)).left).toMatchObject([{ subject: key.id, detail: { account } }]);
  const network = '203.0.113.0/24';
  const why = 'scans';
  const { json: block, left: blocked } = await did('block.add', network, '--for', '1h', '--reason', why);
  expect(block.reason).toBe(why);
  expect(blocked).toMatchObject([
    { subject: network, detail: { expiresAt: block.expiresAt, operator: { reason: why } } },
  ]);
  expect((await did('block.remove', network)).left).toMatchObject([{ subject: network, detail: {} }]);
  expect((await did('api-key.revoke', key.id)).left).toMatchObject([
    { subject: key.id, detail: { account } },
  ]);
  const client = [
    '--owner',
    EMAIL,
    '--name',
    'c',
    '--grants',
    'client_credentials',
    '--scopes',
    'posts:read',
  ];
  const { json: created } = await did('oauth-client.create', ...client);
  expect((await did('oauth-client.delete', created.client_id)).left).toMatchObject([
    { subject: created.client_id, detail: { account } },
  ]);
  await did('session.revoke', '--user', EMAIL);
  await did('jwt.revoke', 'a-jti');
  await did('user.set-role', EMAIL, 'admin', '--reason', 'ticket 7');
  expect(done.get('user.set-role')).toMatchObject([
    { subject: account, detail: { role: 'admin', operator: { reason: 'ticket 7' } } },
  ]);
  const { json: exported } = await adminCommand(app, ['user', 'export', EMAIL]);
  expect(exported.audit).toContainEqual(
    expect.objectContaining({ action: 'user.set-role', detail: { role: 'admin' } }),
  );
  await did('user.disable', EMAIL);
  await did('user.enable', EMAIL, '--revoke-credentials');
  expect((await did('credential.revoke', '--all')).left).toMatchObject([{ subject: account }]);
  const { json: signing } = await did('signing-key.rotate');
  await did('signing-key.revoke', signing.id);
  const file = join(await temporaryFolder(), 'documents.json');
  await writeFile(file, JSON.stringify({ one: '{ __typename }' }));
  await did('document.publish', file, '--client', 'web', '--release', '1');
  expect((await did('document.retire', '--client', 'web', '--release', '1')).left).toMatchObject([
    { subject: 'web', detail: { release: '1', retired: 1 } },
  ]);
  await did('search.rebuild');
  await did('event-log.reset');
  await did('user.delete', EMAIL, '--content', 'delete');

  const all = namesOf(
    createProgram(
      () => Promise.resolve(),
      () => Promise.resolve(),
    ),
  );
  const known = [...done.keys(), 'user.set-password', ...READ, ...READ_TOO, ...ALONE];
  expect(all.sort()).toEqual(known.sort());
  for (const [name, left] of done)
    expect(
      left.map(({ action, via, actor, detail }) => ({ action, via, actor, operator: detail.operator })),
      name,
    ).toEqual([
      { action: name, via: 'command', actor: null, operator: expect.objectContaining({ host: hostname() }) },
    ]);
  expect(JSON.stringify(await entries(app))).not.toMatch(/@|Grace|Invited|cga_|cgc_|cgl_/);
  // The account has gone; what happened to it has not.
  expect(await actions(app, '--subject', account)).toEqual(
    expect.arrayContaining(['user.create', 'api-key.revoke', 'user.set-role', 'user.delete']),
  );
});

it('credential revoke leaves an entry for each account', async () => {
  const accounts = [await app.account(), await app.account()];
  const { json, left } = await run('credential', 'revoke', '--api-keys');
  expect(json).toMatchObject({ accounts: 2 });
  const common = { action: 'credential.revoke', via: 'command', actor: null };
  const kinds = ['apiKeys', 'streamTokens'];
  const entriesOf = accounts.map(({ id }) => ({
    ...{ ...common, subject: id },
    detail: { account: id, kinds, operator: expect.objectContaining({ host: hostname() }) },
  }));
  expect(left).toHaveLength(2);
  expect(left).toEqual(expect.arrayContaining(entriesOf.map((entry) => expect.objectContaining(entry))));
});

it('A command that fails leaves no entry', async () => {
  const before = await entries(app);
  const nobody = 'nobody@example.com';
  const unknown = '00000000-0000-7000-8000-000000000000';
  for (const args of [
    ['user', 'disable', nobody],
    ['api-key', 'revoke', unknown],
    ['stream-token', 'revoke', unknown],
    ['oauth-client', 'delete', unknown],
    ['signing-key', 'revoke', 'none'],
    ['jwt', 'revoke', ''],
    ['api-key', 'suspend', unknown],
    ['api-key', 'resume', unknown],
    ['api-key', 'set-limits', unknown, '--reset'],
    ['user', 'set-limits', nobody, '--reset'],
    ['block', 'add', '127.0.0.1'],
    ['block', 'remove', '203.0.113.1'],
  ])
    await adminCommand(app, args).then(
      ({ failure }) => expect(failure).toBeDefined(),
      (error: unknown) => expect(error).toMatchObject({ message: expect.stringContaining(nobody) }),
    );
  expect(await entries(app)).toEqual(before);
});
