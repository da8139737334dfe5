import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { actions, entries } from '../../support/audit.ts';
import { createPost } from '../../support/content.ts';
import { authorizeClient, oauthClient } from '../../support/credentials/oauth.ts';
import { cookieOf, gqlAs, login, PASSWORD, person, visitor } from '../../support/credentials/session.ts';
import { startTestJobRunner } from '../../support/job-runner.ts';
import { linesOf } from '../../support/log-lines.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';

const app = useApp();
const COMMENT = 'mutation ($id: ID!) { createComment(postId: $id, body: "b") { id } }';
const UPDATE = 'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id } }';
const DELETE = 'mutation ($id: ID!) { deletePost(id: $id) }';
const UPDATE_COMMENT = 'mutation ($id: ID!, $body: String!) { updateComment(id: $id, body: $body) { id } }';
const DELETE_COMMENT = 'mutation ($id: ID!) { deleteComment(id: $id) }';
const CREATE_KEY = `mutation {
  createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { apiKey { id } } }`;
const NEW_PASSWORD = 'another long password';
const CHANGE_PASSWORD = `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${NEW_PASSWORD}") }`;

const postWithComment = async (key: string) => {
  const id = await createPost(app, key);
  const { data } = await app.gql(COMMENT, { key, variables: { id } });
  return { id, comment: data.createComment.id as string };
};

describe('What an admin does to content of others', () => {
  it('is found by the content, its author, the admin and the admin’s key, with the request’s id', async () => {
    const author = await app.account();
    const admin = await app.account({ role: 'admin' });
    const { id, comment } = await postWithComment(author.key);
    const asAdmin = (query: string, variables: object) => app.gql(query, { key: admin.key, variables });
    await asAdmin(UPDATE_COMMENT, { id: comment, body: 'changed' });
    await asAdmin(DELETE_COMMENT, { id: comment });
    await asAdmin(UPDATE, { id, title: 'changed' });
    const { headers } = await asAdmin(DELETE, { id });
    const did = ['updateComment', 'deleteComment', 'updatePost', 'deletePost'];
    expect(await actions(app, '--subject', author.id)).toEqual(did);
    expect(await actions(app, '--subject', author.email)).toEqual(did);
    expect(await actions(app, '--actor', admin.email)).toEqual(did);
    const { json: keys } = await adminCommand(app, ['api-key', 'list']);
    const { id: keyId } = keys.find(({ user }: { user: string }) => user === admin.email);
    expect(await actions(app, '--actor', keyId)).toEqual(did);
    expect(await entries(app, '--subject', id, '--action', 'deletePost')).toEqual([
      {
        at: expect.any(String),
        actor: admin.id,
        via: `api-key:${keyId}`,
        action: 'deletePost',
        subject: id,
        detail: { account: author.id },
        requestId: headers.get('x-request-id'),
      },
    ]);
  });

  it('is not there if nothing was changed, if it was undone, or if it is the admin’s own', async () => {
    const author = await app.account();
    const admin = await app.account({ role: 'admin' });
    const { id, comment } = await postWithComment(author.key);
    const as = (key: string, query: string, variables: object) => app.gql(query, { key, variables });
    const { data } = await app.gql('query ($id: ID!) { post(id: $id) { title } }', {
      key: admin.key,
      variables: { id },
    });
    await as(admin.key, UPDATE, { id, title: data.post.title });
    await as(admin.key, UPDATE_COMMENT, { id: comment, body: 'b' });
    await as(admin.key, DELETE, { id: '00000000-0000-7000-8000-000000000000' });
    const undone = `mutation ($id: ID!) { deletePost(id: $id) updatePost(id: $id, title: "x") { id } }`;
    expect((await as(admin.key, undone, { id })).errors).toBeDefined();
    const own = await createPost(app, admin.key);
    await as(admin.key, UPDATE, { id: own, title: 'mine' });
    await as(admin.key, DELETE, { id: own });
    await as(author.key, DELETE, { id });
    expect(await entries(app, '--actor', admin.id)).toEqual([]);
    expect(await entries(app, '--actor', author.id)).toEqual([]);
  });
});

describe('What people change of their accounts', () => {
  it('keys, sessions, passwords and grants, by session', async () => {
    const { id: account, cookie, email, password } = await visitor(app, {});
    const { data } = await gqlAs(app, cookie, CREATE_KEY);
    const { id } = data.createApiKey.apiKey;
    await gqlAs(app, cookie, `mutation { revokeApiKey(id: "${id}") }`);
    // Not another time, and not of others.
    await gqlAs(app, cookie, `mutation { revokeApiKey(id: "${id}") }`);
    const client = await oauthClient(app, { owner: await app.account() });
    await authorizeClient(app, client, { email, password });
    const grants = '{ viewer { oauthGrants { id } sessions { id current } } }';
    const { viewer } = (await gqlAs(app, cookie, grants)).data;
    await gqlAs(app, cookie, `mutation { revokeGrant(id: "${viewer.oauthGrants[0].id}") }`);
    const other = viewer.sessions.find(({ current }: { current: boolean }) => !current);
    await gqlAs(app, cookie, `mutation { revokeSession(id: "${other.id}") }`);
    expect((await gqlAs(app, cookie, CHANGE_PASSWORD)).data).toEqual({ changePassword: true });
    const left = await entries(app, '--subject', account);
    expect(left.map(({ action, subject }) => [action, subject])).toEqual([
      ['createApiKey', id],
      ['revokeApiKey', id],
      ['oauth-grant.allow', viewer.oauthGrants[0].id],
      ['revokeGrant', viewer.oauthGrants[0].id],
      ['revokeSession', other.id],
      ['changePassword', account],
    ]);
    const current = viewer.sessions.find((session: { current: boolean }) => session.current).id;
    for (const { actor, via, action, requestId } of left) {
      expect({ actor, requestId }).toEqual({ actor: account, requestId: expect.any(String) });
      expect(via).toBe(`session:${action === 'oauth-grant.allow' ? other.id : current}`);
    }
    expect(JSON.stringify(left)).not.toContain('@');
    const { json: exported } = await adminCommand(app, ['user', 'export', email]);
    expect(exported.audit.map(({ action }: { action: string }) => action)).toEqual(
      left.map(({ action }) => action),
    );
  });

  it('are RATE_LIMITED beyond 10,000 a day, except changePassword, revokeEverything and what an admin does to others', async () => {
    const admin = await visitor(app, { role: 'admin' });
    const author = await app.account();
    const create = () => gqlAs(app, admin.cookie, CREATE_KEY);
    const change = (set: object) =>
      app.prisma.auditEntry.updateMany({ where: { actorId: admin.id }, data: set });
    dataOf(await create());
    await change({ number: 9_999 });
    dataOf(await create());
    for (let time = 0; time < 2; time += 1) {
      const rejected = await create();
      expectRejected(rejected, { code: 'RATE_LIMITED', status: 200, message: /10000 times today/ });
      expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(await app.prisma.apiKey.count({ where: { userId: admin.id } })).toBe(3);
    const id = await createPost(app, author.key);
    dataOf(await app.gql(DELETE, { key: admin.key, variables: { id } }));
    const changed = await gqlAs(app, admin.cookie, CHANGE_PASSWORD);
    dataOf(changed);
    const cookie = cookieOf(changed);
    const newKey = CREATE_KEY.replace(PASSWORD, NEW_PASSWORD);
    expectRejected(await gqlAs(app, cookie, newKey), { code: 'RATE_LIMITED' });
    dataOf(await gqlAs(app, cookie, `mutation { revokeEverything(currentPassword: "${NEW_PASSWORD}") }`));
    const did = ['createApiKey', 'createApiKey', 'deletePost', 'changePassword', 'revokeEverything'];
    expect(await actions(app, '--actor', admin.id)).toEqual(did);
    // Another day.
    await change({ at: new Date(Date.now() - 86_400_000) });
    const again = cookieOf(await login(app, { email: admin.email, password: NEW_PASSWORD }));
    dataOf(await gqlAs(app, again, newKey));
    expect(await actions(app, '--actor', admin.id)).toEqual([...did, 'createApiKey']);
  });

  it('have a count in the entries own.more of version 1.0.0, which count for the day', async () => {
    const { id, cookie } = await visitor(app);
    const data = { actorId: id, accountId: id, via: 'session:x', action: 'own.more', detail: {} };
    await app.prisma.auditEntry.create({ data: { ...data, number: 10_004 } });
    expect(await entries(app, '--actor', id)).toMatchObject([{ detail: { account: id, count: 4 } }]);
    expectRejected(await gqlAs(app, cookie, CREATE_KEY), { code: 'RATE_LIMITED' });
    expect(await actions(app, '--actor', id)).toEqual(['own.more']);
  });
});

/** The statement by which version 1.0.0 records a change of one's own. */
const RECORD_AS_1_0_0 = `
  WITH last AS (SELECT id, number, at FROM audit_log WHERE actor_id = $1::uuid AND number IS NOT NULL ORDER BY id DESC LIMIT 1),
    of_day AS (SELECT id, number FROM last WHERE at >= date_trunc('day', now(), 'UTC')),
    counted AS (UPDATE audit_log SET number = audit_log.number + 1, at = clock_timestamp() FROM of_day
      WHERE audit_log.id = of_day.id AND of_day.number > 10000 RETURNING 1),
    next AS (SELECT coalesce((SELECT number FROM of_day), 0) + 1 AS number WHERE NOT EXISTS (SELECT FROM counted))
  INSERT INTO audit_log (actor_id, via, action, account_id, detail, number)
  SELECT $1::uuid, 'session:x', 'createApiKey', $1::uuid, '{}'::jsonb, number FROM next WHERE number <= 10000
  UNION ALL SELECT $1::uuid, 'session:x', 'own.more', $1::uuid, '{}'::jsonb, number FROM next WHERE number > 10000`;

it('An instance of version 1.0.0 changes no entry of this version in a rolling upgrade', async () => {
  const { id, cookie } = await visitor(app);
  dataOf(await gqlAs(app, cookie, CREATE_KEY));
  await app.prisma.auditEntry.updateMany({ where: { actorId: id }, data: { number: 10_000 } });
  dataOf(await gqlAs(app, cookie, CHANGE_PASSWORD));
  const before = await entries(app, '--actor', id);
  expect(before.map(({ action }) => action)).toEqual(['createApiKey', 'changePassword']);
  const old = await app.database.dedicatedClient();
  try {
    for (let time = 0; time < 2; time += 1) await old.query(RECORD_AS_1_0_0, [id]);
  } finally {
    await old.end();
  }
  const after = await entries(app, '--actor', id);
  expect(after.slice(0, 2)).toEqual(before);
  expect(after.slice(2)).toMatchObject([{ action: 'own.more', detail: { account: id, count: 2 } }]);
});

it('A filter by the action of a command also finds entries that version 1.0.0 recorded under its former name', async () => {
  const subject = '203.0.113.77';
  const data = { via: 'command', detail: {}, subject };
  await app.prisma.auditEntry.create({ data: { ...data, action: 'block' } });
  await app.prisma.auditEntry.create({ data: { ...data, action: 'blocked' } });
  expect((await adminCommand(app, ['block', 'add', subject])).failure).toBeUndefined();
  const found = (action: string) => actions(app, '--subject', subject, '--action', action);
  expect(await found('block.add')).toEqual(['block', 'block.add']);
  expect(await found('block')).toEqual(['block']);
  expect(await found('block.remove')).toEqual([]);
  expect((await adminCommand(app, ['block', 'remove', subject])).failure).toBeUndefined();
});

it('Entries go after AUDIT_RETENTION_DAYS, and --since shows the later ones', async () => {
  const { email } = await person(app);
  await adminCommand(app, ['user', 'disable', email]);
  await adminCommand(app, ['user', 'enable', email]);
  const ago = (days: number) => new Date(Date.now() - days * 86_400_000);
  const set = (action: string, days: number) =>
    app.prisma.auditEntry.updateMany({ where: { action }, data: { at: ago(days) } });
  await set('user.disable', 366);
  await set('user.enable', 364);
  expect(await actions(app, '--subject', email)).toEqual(['user.disable', 'user.enable']);
  expect(await actions(app, '--subject', email, '--since', ago(365).toISOString())).toEqual(['user.enable']);
  await startTestJobRunner(app).runAll();
  expect(await actions(app, '--subject', email)).toEqual(['user.enable']);
});

it('The line of a mutation names its fields, and what they changed once it is committed', async () => {
  const author = await app.account();
  const { key } = await createApiKey(app.database, {
    userId: author.id,
    name: 'k',
    scopes: ['posts:write', 'comments:write'],
  });
  const lineOf = async (query: string, headers: Record<string, string> = {}) => {
    const response = await app.gql(query, { key, headers });
    const requestId = response.headers.get('x-request-id');
    const [line] = linesOf(app.logged, 'http.request').filter((logged) => logged.requestId === requestId);
    return { data: response.data, fields: line?.fields, changedIds: line?.changedIds };
  };
  for (const headers of [{}, { 'idempotency-key': 'a-key' }]) {
    const one = await lineOf('mutation { createPost(title: "t", body: "b") { id } }', headers);
    const { id } = one.data.createPost;
    expect(one).toMatchObject({ fields: ['createPost'], changedIds: [id] });
    const two = await lineOf(
      `mutation { a: createComment(postId: "${id}", body: "b") { id } deletePost(id: "${id}") none: deletePost(id: "x") }`,
    );
    const fields = ['createComment', 'deletePost', 'deletePost'];
    expect(two).toMatchObject({ fields, changedIds: [two.data.a.id, id] });
  }
  const failed = await lineOf(
    'mutation { deletePost(id: "x") createComment(postId: "x", body: "b") { id } }',
  );
  expect(failed).toMatchObject({ fields: ['deletePost', 'createComment'], changedIds: undefined });
  expect(await lineOf('{ __typename }')).toMatchObject({ fields: undefined, changedIds: undefined });
});
