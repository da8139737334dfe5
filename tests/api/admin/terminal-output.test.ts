import type { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import type { RunCommand, RunWithout } from '../../../src/admin/cli/connection.ts';
import { createLocalIo, printResult, report } from '../../../src/admin/cli/output.ts';
import { createProgram } from '../../../src/admin/program.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { PASSWORD } from '../../support/credentials/session.ts';
import { withInstance } from '../../support/deprecating-instance.ts';
import { deprecatingSchema } from '../../support/schema/deprecating-schema.ts';
import { issueToken } from '../../support/streams/stream-token.ts';
import { publish } from '../../support/trusted-documents.ts';

/** C1 controls, DEL, and characters that reorder text on a terminal (Unicode UAX #9). */
const HOSTILE = 'Eve\u009b31m\u007f\u0085\u061c\u200e\u200f\u202e\u2066\u2069';
const ESCAPED = 'Eve\\u009b31m\\u007f\\u0085\\u061c\\u200e\\u200f\\u202e\\u2066\\u2069';
const RAW = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const EMAIL = `${HOSTILE}@example.org`;
/** Stands for the id of the key that \`storeText\` creates. */
const KEY_ID = 'KEY-ID';

const app = useApp();

/** Runs a command as the process does, and returns what the command writes to the terminal. */
async function runOnTerminal(args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    vi.spyOn(process[name], 'write').mockImplementation((text, ...further) => {
      written[name] += String(text);
      for (const done of further) if (typeof done === 'function') done();
      return true;
    });
  const { database, config } = app;
  const io = createLocalIo();
  const run: RunCommand = async (work) => printResult(io, await work({ database, config, applied: [], io }));
  const runWithout: RunWithout = () => Promise.reject(new Error('the command opens a database of its own'));
  try {
    await createProgram(run, runWithout).parseAsync(args, { from: 'user' });
  } catch (error) {
    report(io, error);
  } finally {
    vi.restoreAllMocks();
  }
  return written;
}

/** The commands that print what users or operators have written. */
const PRINT_TEXT: readonly (readonly [command: string, ...args: string[]])[] = [
  ['user list'],
  ['user export', EMAIL],
  ['user link', EMAIL, '--issuer', HOSTILE, '--subject', HOSTILE],
  ['user unlink', EMAIL, '--issuer', HOSTILE, '--subject', HOSTILE],
  ['api-key list'],
  ['api-key show', KEY_ID],
  ['oauth-client list'],
  ['stream-token list'],
  ['document list'],
  ['document list-unpublished'],
  ['deprecation list-usage'],
  ['deprecation report'],
  ['audit list'],
  ['block add', '203.0.113.9', '--reason', HOSTILE],
  ['block list'],
  ['sql', 'SELECT name, email FROM users'],
];

/** The commands that print ids, numbers, times and secrets only; `doctor` and `database restore` print what the operator has named. */
const PRINT_NO_TEXT = `
  user create, user disable, user enable, user set-password, user set-role, user set-limits, user delete, user invite,
  user create-reset-link, api-key create, api-key revoke, api-key suspend, api-key resume, api-key set-limits, session revoke,
  jwt revoke, stream-token revoke, document publish, document retire, credential revoke, oauth-client create,
  oauth-client delete, signing-key rotate, signing-key list, signing-key revoke, event-log reset, search rebuild, top, doctor, block remove,
  database migrate, database backup, database restore, database copy-to`;

/** The words of each command. */
const findCommands = (command: Command): string[] =>
  command.commands.flatMap((inner) =>
    inner.commands.length === 0
      ? [inner.name()]
      : findCommands(inner).map((words) => `${inner.name()} ${words}`),
  );

/** Stores the text wherever a command finds it. Returns the id of the key that has the text as its name. */
async function storeText(): Promise<string> {
  const runCommand = async (...args: string[]) => {
    const { json, failure } = await adminCommand(app, args);
    expect(failure).toBeUndefined();
    return json;
  };
  await runCommand('user', 'create', '--name', HOSTILE, '--email', EMAIL, '--password', PASSWORD);
  const scopes = ['--scopes', 'posts:read posts:write users:read'];
  const { id, key } = await runCommand('api-key', 'create', '--user', EMAIL, '--name', HOSTILE, ...scopes);
  const grants = ['--grants', 'client_credentials', '--scopes', 'posts:read'];
  await runCommand('oauth-client', 'create', '--owner', EMAIL, '--name', HOSTILE, ...grants);
  await createPost(app, key, { title: HOSTILE, body: HOSTILE, tags: [HOSTILE] });
  const subscription = `subscription { postCreated { id } } # ${HOSTILE}`;
  await issueToken(app, { authorization: `Bearer ${key}` }, { query: subscription });
  const query = 'query Old { posts(limit: 1) { body } }';
  for (const release of ['kept', 'retired'])
    expect((await publish(app, { document: query }, { client: HOSTILE, release })).failure).toBeUndefined();
  await runCommand('document', 'retire', '--client', HOSTILE, '--release', 'retired');
  await withInstance(app, deprecatingSchema(), async (ask) => {
    expect(await ask({ query }, key)).toBe(200);
    expect(await ask({ query: 'query Unpublished { posts { body } }' }, key)).toBe(200);
  });
  return id;
}

describe('A terminal shows no control character of a text', () => {
  it('that a command prints, and the output is the JSON of the text', async () => {
    const keyId = await storeText();
    for (const [command, ...args] of PRINT_TEXT) {
      const given = args.map((arg) => (arg === KEY_ID ? keyId : arg));
      const { stdout, stderr } = await runOnTerminal([...command.split(' '), ...given]);
      expect(stderr, command).toBe('');
      expect(stdout, command).toContain(ESCAPED);
      expect(stdout, command).not.toMatch(RAW);
      expect(JSON.stringify(JSON.parse(stdout)), command).toContain(HOSTILE);
    }
  });

  it.each([
    ['user disable', `nobody-${HOSTILE}`],
    ['user create', '--name', 'Eve', '--email', HOSTILE, '--password', PASSWORD],
    ['document retire', HOSTILE],
    ['api-key revoke', `${HOSTILE}\u001b[2J`],
  ])('that "%s" repeats in a message', async (command, ...args) => {
    const { stderr } = await runOnTerminal([...command.split(' '), ...args]);
    expect(stderr).toContain(ESCAPED);
    expect(stderr).not.toMatch(RAW);
    expect(stderr).not.toContain('\u001b');
  });

  it('that any command prints: a new command is added to one of the lists', () => {
    const program = createProgram(
      () => Promise.resolve(),
      () => Promise.resolve(),
    );
    const listed = [...PRINT_TEXT.map(([command]) => command), ...PRINT_NO_TEXT.trim().split(/,\s+/)];
    expect(
      [...new Set(listed)].sort(),
      'Add each command to PRINT_TEXT of this test if it prints what users or operators have written, otherwise to PRINT_NO_TEXT',
    ).toEqual(findCommands(program).sort());
  });
});
