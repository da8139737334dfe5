import { beforeAll, describe, expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../../src/auth/scopes.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createComment, createPost } from '../../support/content.ts';
import type { GraphQLResponse } from '../../support/graphql.ts';
import { dataOf, expectForbidden, expectRejected } from '../../support/rejection.ts';

interface Ids {
  readonly post: string;
  readonly comment: string;
  readonly user: string;
}

/** The permission table: each operation with the scope that it needs, and no other. */
const TABLE: readonly (readonly [coordinate: string, scope: Scope, query: (ids: Ids) => string])[] = [
  [
    'Query.post',
    'posts:read',
    ({ post }) => `{ post(id: "${post}") { title author { name } tags commentCount } }`,
  ],
  ['Query.posts', 'posts:read', () => '{ posts(limit: 1) { title body author { id name } } }'],
  ['Query.postsConnection', 'posts:read', () => '{ postsConnection(first: 1) { nodes { id } } }'],
  [
    'Post.comments',
    'posts:read',
    ({ post }) => `{ post(id: "${post}") { comments { body author { name } post { id } } } }`,
  ],
  [
    'Post.commentsConnection',
    'posts:read',
    ({ post }) => `{ post(id: "${post}") { commentsConnection { nodes { id } } } }`,
  ],
  ['Query.user', 'users:read', ({ user }) => `{ user(id: "${user}") { name createdAt } }`],
  ['Query.users', 'users:read', () => '{ users(limit: 1) { name } }'],
  ['Query.usersConnection', 'users:read', () => '{ usersConnection(first: 1) { nodes { name } } }'],
  ['Query.viewer', 'users:read', () => '{ viewer { name email } }'],
  ['Mutation.createPost', 'posts:write', () => 'mutation { createPost(title: "T", body: "B") { id } }'],
  [
    'Mutation.updatePost',
    'posts:write',
    ({ post }) => `mutation { updatePost(id: "${post}", title: "T") { id } }`,
  ],
  ['Mutation.deletePost', 'posts:write', () => 'mutation { deletePost(id: "none") }'],
  [
    'Mutation.createComment',
    'comments:write',
    ({ post }) => `mutation { createComment(postId: "${post}", body: "B") { id } }`,
  ],
  [
    'Mutation.updateComment',
    'comments:write',
    ({ comment }) => `mutation { updateComment(id: "${comment}", body: "B") { id } }`,
  ],
  ['Mutation.deleteComment', 'comments:write', () => 'mutation { deleteComment(id: "none") }'],
];

const app = useApp();
const owner = useAccount(app, { role: 'admin' });
let ids: Ids;

beforeAll(async () => {
  const post = await createPost(app, owner.key);
  ids = { post, comment: await createComment(app, owner.key, post), user: owner.id };
});

/** Status 403 is for answers without data (contract: permissions): `post` and `user` may be null and leave `data` there. */
function expectRejection(response: GraphQLResponse, query: string): void {
  if (/^\{ (post|user)\(/.test(query)) {
    expectRejected(response, { code: 'FORBIDDEN', status: 200 });
    expect(Object.values(response.data)).toEqual([null]);
  } else expectForbidden(response);
}

describe.each(TABLE)('%s', (_coordinate, scope, query) => {
  const keyWith = async (scopes: readonly Scope[]) => (await app.account({ role: 'admin', scopes })).key;

  it(`is for keys with ${scope}`, async () => {
    dataOf(await app.gql(query(ids), { key: await keyWith([scope]) }));
  });

  it(`is FORBIDDEN to keys with every other scope, admins’ too, and the message names the field and the scope`, async () => {
    const key = await keyWith(SCOPES.filter((other) => other !== scope));
    const response = await app.gql(query(ids), { key });
    expectRejection(response, query(ids));
    const [rejected] = response.errors ?? [];
    const field = `\\w+\\.${rejected?.path?.at(-1)}`;
    expect(rejected?.message).toMatch(new RegExp(`^Field "${field}" requires the scope "${scope}"\\.$`));
  });

  it('is FORBIDDEN to keys without scopes', async () => {
    expectRejection(await app.gql(query(ids), { key: await keyWith([]) }), query(ids));
  });
});

describe('Scopes', () => {
  it('count field by field: what is not permitted nulls its nearest nullable ancestor, and the rest is answered', async () => {
    const { key } = await app.account({ scopes: ['users:read'] });
    const query = `{ hidden: user(id: "${ids.user}") { name posts { id } } seen: user(id: "${ids.user}") { name } }`;
    const response = await app.gql(query, { key });
    expect(response.status).toBe(200);
    expect(response.data).toEqual({ hidden: null, seen: { name: 'Someone' } });
    expect(response.errors).toMatchObject([{ path: ['hidden', 'posts'], extensions: { code: 'FORBIDDEN' } }]);
  });

  it('keep User.posts and User.postsConnection for posts:read', async () => {
    const { key } = await app.account({ scopes: ['users:read'] });
    for (const field of ['posts { id }', 'postsConnection { nodes { id } }'])
      expectForbidden(await app.gql(`{ viewer { ${field} } }`, { key }));
  });

  it('keep a rejected mutation from writing', async () => {
    const { id, key } = await app.account({ scopes: ['posts:read', 'users:read'] });
    expectForbidden(await app.gql('mutation { createPost(title: "T", body: "B") { id } }', { key }));
    expect(dataOf(await app.gql(`{ user(id: "${id}") { posts { id } } }`, { key })).user.posts).toEqual([]);
  });

  it('name what is missing in the rejection (RFC 6750 section 3.1)', async () => {
    const { key } = await app.account({ scopes: [] });
    const response = await app.gql('{ posts { id } }', { key });
    expectForbidden(response);
    expect(response.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="posts:read"',
    );
  });

  it('leave the schema open to look at', async () => {
    const { key } = await app.account({ scopes: [] });
    const query = '{ __typename __type(name: "User") { name } }';
    expect(dataOf(await app.gql(query, { key }))).toEqual({ __typename: 'Query', __type: { name: 'User' } });
  });
});
