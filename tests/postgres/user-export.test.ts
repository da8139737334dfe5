import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../support/app.ts';
import { createComment, createPost, seedComments, seedPosts } from '../support/content.ts';
import { holder } from '../support/credentials/holdings.ts';
import { JWT_SECRET } from '../support/credentials/tokens.ts';
import { postgresOf } from '../support/database/postgres.ts';
import type { Parsed } from '../support/parsed.ts';
import { environment, ROOT, temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';

const app = useApp({ settings: { JWT_SECRET } });

const settings = async (limits: Readonly<Record<string, string>> = {}) => ({
  DATABASE_URL: postgresOf(app).url,
  DATA_DIR: await temporaryFolder(),
  ...limits,
});
const exported = async (email: string) => admin(['user', 'export', email], '', await settings());

/** Every text that somewhere stands in a value. */
const textsOf = (value: Parsed): string[] =>
  typeof value === 'object' && value !== null
    ? Object.values(value).flatMap(textsOf)
    : typeof value === 'string'
      ? [value]
      : [];

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);

it('has all of an account, and nothing that is secret or of others', async () => {
  const who = await holder(app, [app]);
  const other = await app.account({ name: 'Somebody Else' });
  const [mine = '', theirs = ''] = await seedPosts(app, [{ authorId: who.id }, { authorId: other.id }]);
  await seedComments(app, [
    { postId: theirs, authorId: who.id },
    { postId: mine, authorId: other.id },
  ]);
  const response = await app.gql(
    'mutation { createPost(title: "Tagged \\u2028", body: "b", tags: ["z", "a"]) { id } }',
    { key: who.key, headers: { 'idempotency-key': 'once' } },
  );
  expect(response.errors).toBeUndefined();
  const { code, stdout, stderr, json } = await exported(who.email.toUpperCase());
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(json.account).toEqual({
    ...{ id: who.id, name: 'Someone', email: who.email, role: 'member', hasPassword: true },
    ...{ handle: null, bio: '', avatarUrl: null, emailVerifiedAt: null },
    ...{ createdAt: TIME, disabledAt: null, deletedAt: null, tokensValidFrom: null },
  });
  expect(json.posts.map(({ id }: { id: string }) => id)).toEqual([mine, response.data.createPost.id]);
  expect(json.posts[1]).toEqual({
    ...{
      id: ID,
      title: 'Tagged \u2028',
      body: 'b',
      slug: 'tagged',
      formerSlugs: [],
      tags: ['z', 'a'],
      commentCount: 0,
    },
    ...{ createdAt: TIME, updatedAt: TIME, version: 1 },
  });
  expect(json.comments).toEqual([
    { id: ID, postId: theirs, body: expect.any(String), createdAt: TIME, updatedAt: TIME, version: 1 },
  ]);
  expect(json.apiKeys).toMatchObject([{ name: 'test', prefix: who.key.slice(0, 10), revokedAt: null }]);
  expect(json.sessions).toHaveLength(2);
  expect(json.streamTokens).toHaveLength(2);
  expect(json.streamTokens[0].operation.query).toMatch(/subscription/);
  expect(json.storedResponses).toEqual([{ status: 200, createdAt: TIME }]);
  expect(json.oauthClients).toMatchObject([{ id: who.ownClient.id, grants: ['client_credentials'] }]);
  expect(json.oauthGrants).toMatchObject([{ client: expect.any(String), authorizedUntil: [TIME] }]);

  const { prisma } = app;
  const where = { userId: who.id };
  const hashes = [
    ...(await prisma.session.findMany({ where })),
    ...(await prisma.apiKey.findMany({ where })),
    ...(await prisma.streamToken.findMany({ where })),
  ].map(({ hash }) => hash);
  const { passwordHash } = await prisma.user.findUniqueOrThrow({ where: { id: who.id } });
  const client = await prisma.oAuthClient.findUniqueOrThrow({ where: { id: who.granted.client.id } });
  const foreign = [other.id, other.email, 'Somebody Else', client.ownerId];
  const secret = [who.key, who.cookie.split('=')[1], passwordHash, who.granted.refresh, who.ownClient.secret];
  for (const text of [...secret, ...foreign]) expect(stdout).not.toContain(text);
  for (const hash of hashes)
    for (const form of ['hex', 'base64', 'base64url'] as const)
      expect(stdout).not.toContain(Buffer.from(hash).toString(form));
  expect(stdout).not.toContain('"type":"Buffer"');
  expect(textsOf(json).filter((text) => /^\\x|^cg[a-z]_.{20}/.test(text))).toEqual([]);
});

it('has the same of an account that is disabled or in deletion', async () => {
  const who = await app.account();
  const id = await createPost(app, who.key);
  await createComment(app, who.key, id);
  for (const state of [{ disabledAt: new Date() }, { deletedAt: new Date() }]) {
    await app.prisma.user.update({ where: { id: who.id }, data: state });
    const { code, json } = await exported(who.email);
    expect(code).toBe(0);
    expect(json.account).toMatchObject({ [Object.keys(state)[0] ?? '']: TIME });
    expect([json.posts.length, json.comments.length]).toEqual([1, 1]);
  }
  expect(await exported('nobody@example.org')).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('nobody@example.org'),
  });
});

const MANY = 30_000;

/** Somebody with many posts of two kilobytes, several at each instant, and a comment on each. */
async function writer() {
  const who = await app.account();
  await run(
    postgresOf(app).url,
    `WITH made AS (
       INSERT INTO posts (id, title, body, author_id, created_at)
       SELECT gen_random_uuid(), 'Post ' || n, repeat('x', 2000), '${who.id}', now() - n / 7 * interval '1 second'
       FROM generate_series(1, ${MANY}) n RETURNING id)
     INSERT INTO comments (id, body, post_id, author_id)
     SELECT gen_random_uuid(), 'c', id, '${who.id}' FROM made`,
  );
  return who;
}

/** The command, whose output nobody reads: it has begun to write, and waits. */
async function started(email: string, further: Readonly<Record<string, string>> = {}) {
  const child = spawn(
    join(ROOT, 'node_modules/.bin/node'),
    [join(ROOT, 'src/admin/main.ts'), 'user', 'export', email],
    { env: environment(await settings(further)), stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  await once(child.stdout, 'readable');
  return {
    output: child.stdout,
    async exit() {
      child.stdout.resume();
      return { code: await ended, stderr };
    },
  };
}

it('goes through many rows in little memory, each once, and holds nothing while its reader pauses', async () => {
  const who = await writer();
  const { output, exit } = await started(who.email, { NODE_OPTIONS: '--max-old-space-size=48' });
  await run(postgresOf(app).url, 'BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE; ROLLBACK');
  const chunks: Buffer[] = [];
  for await (const chunk of output) chunks.push(chunk);
  expect(await exit()).toEqual({ code: 0, stderr: '' });
  const json = JSON.parse(Buffer.concat(chunks).toString());
  const ids = (rows: readonly { id: string }[]) => new Set(rows.map(({ id }) => id)).size;
  expect([json.posts.length, ids(json.posts)]).toEqual([MANY, MANY]);
  expect([json.comments.length, ids(json.comments)]).toEqual([MANY, MANY]);
});

it('ends with 0 for a reader that leaves', async () => {
  const who = await writer();
  const { output, exit } = await started(who.email);
  output.destroy();
  expect(await exit()).toEqual({ code: 0, stderr: '' });
});

it('ends with 1 and a message if it fails in the middle', async () => {
  const who = await writer();
  const { exit } = await started(who.email);
  const { url } = postgresOf(app);
  await run(url, 'ALTER TABLE comments RENAME TO gone');
  onTestFinished(() => run(url, 'ALTER TABLE gone RENAME TO comments'));
  expect(await exit()).toEqual({ code: 1, stderr: expect.stringContaining('comments') });
});

it('says so if the account is deleted meanwhile', async () => {
  const who = await writer();
  const { exit } = await started(who.email);
  await run(postgresOf(app).url, `UPDATE users SET email_key = NULL WHERE id = '${who.id}'`);
  expect(await exit()).toEqual({
    code: 1,
    stderr: 'The account was deleted during the export. The output is incomplete.\n',
  });
});
