import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { createComment, createPost, seedComments, seedPosts } from '../support/content.ts';
import {
  CREDENTIALS,
  type Credential,
  expectRevoked,
  type Holder,
  holder,
} from '../support/credentials/holdings.ts';
import { login, PASSWORD } from '../support/credentials/session.ts';
import { JWT_SECRET, signToken } from '../support/credentials/tokens.ts';
import { NEVER_MS, postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { instanceOnOwnPool, secondInstance } from '../support/second-instance.ts';

const app = useApp({ settings: { JWT_SECRET } });
const NEW_PASSWORD = 'a quite different passphrase';
const OF_PASSWORD: Credential[] = [
  'session',
  'stream token of the session',
  'stream token of the key',
  'OAuth grant',
];

/** Runs an admin command in a process of its own, on the database of the instances. */
async function command(...args: string[]) {
  const done = await admin(args, await temporaryFolder(), { DATABASE_URL: postgresOf(app).url });
  expect(done, done.stderr).toMatchObject({ code: 0, stderr: '' });
  return done.json;
}

async function setUp(role?: 'admin') {
  // Only a notification ends a stream.
  const config = { ...app.config, credentialRecheckMs: NEVER_MS };
  const instances = [secondInstance(app, { config }), await instanceOnOwnPool(app, config)];
  return { instances, who: await holder(app, instances, role), writer: await app.account() };
}

it('user disable ends everything, and user enable brings it back', async () => {
  const { instances, who, writer } = await setUp();
  expect(await command('user', 'disable', who.email)).toEqual({ id: who.id, disabled: true });
  await expectRevoked(app, who, instances, CREDENTIALS, writer.key);
  expect((await login(app, { email: who.email, password: PASSWORD })).status).toBe(401);
  expect(await command('user', 'enable', who.email)).toEqual({ id: who.id, enabled: true });
  for (const credential of CREDENTIALS)
    for (const instance of instances)
      await expect.poll(() => who.status(credential, instance), { message: credential }).toBe(200);
  expect(await who.refresh()).toBe(200);
});

it('user enable --revoke-credentials ends everything that was there before, also of an account that was not disabled', async () => {
  const { instances, who, writer } = await setUp();
  expect(await command('user', 'enable', who.email, '--revoke-credentials')).toEqual({
    id: who.id,
    enabled: true,
    // One session of the login, one of the OAuth pages.
    revoked: { sessions: 2, streamTokens: 2, oauthGrants: 1, oauthClients: 1, links: 0, apiKeys: 1 },
  });
  await expectRevoked(app, who, instances, CREDENTIALS, writer.key);
  expect(await who.refresh()).toBe(400);
  const jwt = async (claims: Record<string, unknown>) => {
    const token = await signToken(who.id, { claims });
    const { status } = await app.fetch('/graphql?query={viewer{id}}', {
      headers: { authorization: `Bearer ${token}` },
    });
    return status;
  };
  expect(await jwt({})).toBe(401);
  expect(await jwt({ iat: Math.floor(Date.now() / 1000) + 2 })).toBe(200);
  expect((await login(app, { email: who.email, password: PASSWORD })).status).toBe(200);
});

it('user set-password ends what the password stood behind, and nothing else', async () => {
  const { instances, who, writer } = await setUp();
  const { database } = app.config;
  const url = database.kind === 'postgres' ? database.url : '';
  const done = await admin(
    ['user', 'set-password', who.email, '--password-stdin'],
    await temporaryFolder(),
    {
      DATABASE_URL: url,
    },
    `${NEW_PASSWORD}\n`,
  );
  expect(done.json, done.stderr).toEqual({
    id: who.id,
    revoked: { sessions: 2, streamTokens: 2, oauthGrants: 1, links: 0 },
  });
  await expectRevoked(app, who, instances, OF_PASSWORD, writer.key);
  expect(await who.refresh()).toBe(400);
  expect((await login(app, { email: who.email, password: PASSWORD })).status).toBe(401);
  expect((await login(app, { email: who.email, password: NEW_PASSWORD })).status).toBe(200);
});

it('user set-role holds for all credentials, and breaks off the streams that have lost a scope', async () => {
  const { instances, who, writer } = await setUp('admin');
  expect(await command('user', 'set-role', who.email, 'member')).toEqual({ id: who.id, role: 'member' });
  const lost: Credential[] = ['session', 'stream token of the session'];
  for (const credential of lost)
    for (const stream of who.streams[credential]) expect(await stream.event()).toBeUndefined();
  const id = await createPost(app, writer.key);
  for (const credential of CREDENTIALS) {
    if (!lost.includes(credential))
      for (const stream of who.streams[credential])
        expect((await stream.next()).data.postCreated.id, credential).toBe(id);
    for (const instance of instances) expect(await who.status(credential, instance), credential).toBe(200);
  }
  const emails = await app.gql('{ users { email } }', { headers: { cookie: who.cookie } });
  expect(emails.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
});

/** Posts and comments of a holder and of somebody else, on each other's. */
async function seedContent(who: Holder) {
  const other = await app.account();
  const [mine = '', theirs = ''] = await seedPosts(app, [{ authorId: who.id }, { authorId: other.id }]);
  await seedComments(app, [
    { postId: mine, authorId: other.id },
    { postId: theirs, authorId: who.id },
    { postId: theirs, authorId: who.id },
  ]);
  await createComment(app, other.key, theirs);
  const response = await app.gql('mutation { createPost(title: "Kept", body: "b") { id } }', {
    key: who.key,
    headers: { 'idempotency-key': 'k' },
  });
  expect(response.errors).toBeUndefined();
  const read = async () => {
    const text = '{ posts(limit: 100) { id author { id name } commentCount comments { author { name } } } }';
    const { data, errors } = await app.gql(text, { key: other.key });
    expect(errors).toBeUndefined();
    const posts = data.posts as { id: string; author: { id: string; name: string }; commentCount: number }[];
    return {
      all: posts,
      theirs: posts.find(({ id }) => id === theirs),
      ofWho: posts.filter((post) => post.author.id === who.id),
    };
  };
  return { read };
}

const rowsOf = (id: string) => {
  const { prisma } = app;
  const where = { where: { userId: id } };
  return Promise.all([
    prisma.session.count(where),
    prisma.apiKey.count(where),
    prisma.streamToken.count(where),
    prisma.oAuthGrant.count(where),
    prisma.idempotencyKey.count(where),
    prisma.oAuthClient.count({ where: { ownerId: id } }),
  ]);
};

it('user delete --content keep leaves posts and comments under a deleted user whom nobody can be again', async () => {
  const { instances, who, writer } = await setUp();
  const { read } = await seedContent(who);
  for (const streams of Object.values(who.streams)) for (const stream of streams) await stream.next();
  const done = await command('user', 'delete', who.email, '--content', 'keep');
  expect(done).toEqual({ id: who.id, deleted: true, deletedPosts: 0, deletedComments: 0 });
  await expectRevoked(app, who, instances, CREDENTIALS, writer.key);
  const { ofWho, theirs } = await read();
  expect(ofWho.map(({ author }) => author.name)).toEqual(['Deleted user', 'Deleted user']);
  expect(theirs?.commentCount).toBe(3);
  expect(await rowsOf(who.id)).toEqual([0, 0, 0, 0, 0, 0]);
  const root = await app.account({ role: 'admin' });
  const { data } = await app.gql('query ($id: ID!) { user(id: $id) { name email } }', {
    key: root.key,
    variables: { id: who.id },
  });
  expect(data.user).toEqual({ name: 'Deleted user', email: '' });
  for (const email of [who.email, ''])
    expect((await login(app, { email, password: PASSWORD })).status).toBe(401);
  // The e-mail is free again.
  const again = ['--name', 'Again', '--email', who.email, '--password', PASSWORD];
  expect((await command('user', 'create', ...again)).id).not.toBe(who.id);
  expect((await command('user', 'list')).find(({ id }: { id: string }) => id === who.id)).toEqual({
    id: who.id,
    name: 'Deleted user',
    email: null,
    role: 'member',
    disabled: true,
  });
});

it('user delete --content delete removes the account with all that it wrote', async () => {
  const { instances, who, writer } = await setUp();
  const { read } = await seedContent(who);
  for (const streams of Object.values(who.streams)) for (const stream of streams) await stream.next();
  const done = await command('user', 'delete', who.email, '--content', 'delete');
  expect(done).toEqual({ id: who.id, deleted: true, deletedPosts: 2, deletedComments: 3 });
  await expectRevoked(app, who, instances, CREDENTIALS, writer.key);
  const { ofWho, theirs } = await read();
  expect(ofWho).toEqual([]);
  expect(theirs?.commentCount).toBe(1);
  expect(await rowsOf(who.id)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await app.prisma.user.count({ where: { id: who.id } })).toBe(0);
});
