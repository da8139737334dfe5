import { beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { SCOPES, type Scope } from '../../../src/auth/scopes.ts';
import { type Account, useAccount, useApp } from '../../support/app.ts';
import { createComment, createPost } from '../../support/content.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';
import type { GraphQLResponse } from '../../support/graphql.ts';
import { dataOf, expectForbidden } from '../../support/rejection.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

/** All that keys of members can have but `users:read`. */
const CONTENT: readonly Scope[] = ['posts:read', 'posts:write', 'comments:write'];

describe('User.email', () => {
  const app = useApp();
  const emailOf = (id: string, key: string) => app.gql(`{ user(id: "${id}") { name email } }`, { key });
  const keyOf = async ({ id }: Account, scopes: readonly Scope[]) =>
    (await createApiKey(app.database, { userId: id, name: 'lesser', scopes })).key;

  it('is there for one’s own account with users:read, whichever way leads to it', async () => {
    const account = await app.account();
    const { id, email } = account;
    const post = await createPost(app, account.key);
    const query = `{ viewer { email } user(id: "${id}") { email } post(id: "${post}") { author { email again: email } } }`;
    for (const key of [account.key, await keyOf(account, ['posts:read', 'users:read'])])
      expect(dataOf(await app.gql(query, { key }))).toEqual({
        viewer: { email },
        user: { email },
        post: { author: { email, again: email } },
      });
  });

  it('is there for one’s own account in a session, which has every scope of its role', async () => {
    const { email, cookie } = await visitor(app);
    const query = 'mutation { createPost(title: "t", body: "b") { author { email } } }';
    expect(dataOf(await gqlAs(app, cookie, query))).toEqual({ createPost: { author: { email } } });
  });

  it('is FORBIDDEN for others to members: the user is null then, and the rest is answered', async () => {
    const other = await app.account();
    const { id, email, key } = await app.account();
    const query = `{ other: user(id: "${other.id}") { name email } own: user(id: "${id}") { email } }`;
    const response = await app.gql(query, { key });
    expect(response.status).toBe(200);
    expect(response.data).toEqual({ other: null, own: { email } });
    expect(response.errors).toMatchObject([{ path: ['other', 'email'], extensions: { code: 'FORBIDDEN' } }]);
  });

  it('takes the whole answer with it where nothing on the way up may be null: 403', async () => {
    await app.account();
    const { key } = await app.account();
    expectForbidden(await app.gql('{ users(limit: 100) { name email } }', { key }));
  });

  it('is there for admins whose key has users:email; their own needs users:read all the same', async () => {
    const { id, email } = await app.account();
    const admin = await app.account({ role: 'admin' });
    expect(dataOf(await emailOf(id, admin.key))).toEqual({ user: { name: 'Someone', email } });
    const key = await keyOf(admin, [...CONTENT, 'users:email']);
    const theirs = await createPost(app, (await app.account()).key);
    const own = await createPost(app, admin.key);
    const authorOf = (post: string) => app.gql(`{ post(id: "${post}") { author { email } } }`, { key });
    expect(dataOf(await authorOf(theirs)).post.author.email).toMatch(/@/);
    expect(await authorOf(own)).toMatchObject({ status: 200, data: { post: null } });
  });

  it('is FORBIDDEN to admins whose key lacks users:email', async () => {
    const { id } = await app.account();
    const scopes = SCOPES.filter((scope) => scope !== 'users:email');
    const response = await emailOf(id, (await app.account({ role: 'admin', scopes })).key);
    expect(response.data).toEqual({ user: null });
    expect(response.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  it('is FORBIDDEN to members even where a key was granted users:email: only admins can hold it', async () => {
    const { id } = await app.account();
    const response = await emailOf(id, (await app.account({ scopes: SCOPES })).key);
    expect(response.data).toEqual({ user: null });
    expect(response.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  describe('to a key without users:read', () => {
    const account = useAccount(app);
    let key: string;
    let own: string;
    let theirs: string;

    beforeAll(async () => {
      const other = await app.account();
      key = await keyOf(account, CONTENT);
      [own, theirs] = [await createPost(app, account.key), await createPost(app, other.key)];
      for (const [post, by] of [
        [own, account],
        [theirs, other],
      ] as const)
        await createComment(app, by.key, post);
    });

    /** Rejected, with the scope that would do, and without the address. */
    function expectWithheld({ data, errors = [] }: Pick<GraphQLResponse, 'data' | 'errors'>): void {
      expect(errors.length).toBeGreaterThan(0);
      for (const { message, extensions } of errors) {
        expect(extensions.code).toBe('FORBIDDEN');
        expect(message).toContain('"users:read"');
      }
      expect(JSON.stringify([data, errors])).not.toContain('@example.com');
    }

    it.each([
      ['a post', (id: string) => `{ post(id: "${id}") { author { email } } }`],
      ['a list', () => '{ posts { author { email } } }'],
      ['a connection', () => '{ postsConnection { nodes { author { email } } } }'],
      ['its edges', () => '{ postsConnection { edges { node { author { email } } } } }'],
      ['comments', (id: string) => `{ post(id: "${id}") { comments { author { email } } } }`],
      [
        'a connection of comments',
        (id: string) => `{ post(id: "${id}") { commentsConnection { nodes { author { email } } } } }`,
      ],
      ['a node', (id: string) => `{ node(id: "${id}") { ... on Post { author { email } } } }`],
      ['nodes', (id: string) => `{ nodes(ids: ["${id}"]) { ... on Post { author { email } } } }`],
      [
        'a fragment',
        (id: string) => `{ post(id: "${id}") { ...P } } fragment P on Post { author { mail: email name } }`,
      ],
      ['createPost', () => 'mutation { createPost(title: "never", body: "b") { author { email } } }'],
      [
        'updatePost',
        (id: string) => `mutation { updatePost(id: "${id}", title: "never") { author { email } } }`,
      ],
      [
        'createComment',
        (id: string) => `mutation { createComment(postId: "${id}", body: "never") { author { email } } }`,
      ],
      [
        'the post of createComment',
        (id: string) =>
          `mutation { createComment(postId: "${id}", body: "never") { post { author { email } } } }`,
      ],
    ])('is FORBIDDEN of one’s own account, through %s', async (_way, documentFor) => {
      const query = documentFor(own);
      expectWithheld(await app.gql(query, { key }));
      // Nothing of it is different where the operation tells its cost, and nothing was written.
      expectWithheld(await app.gql(query, { key, headers: { 'x-show-cost': '1' } }));
      expect(await app.prisma.post.count({ where: { title: 'never' } })).toBe(0);
      expect(await app.prisma.comment.count({ where: { body: 'never' } })).toBe(0);
    });

    it('is FORBIDDEN in events of one’s own posts', async () => {
      const query = 'subscription { postCreated { title author { email } } }';
      const stream = await subscribe(app, { key, query });
      await createPost(app, account.key, { title: 'event' });
      const { errors = [] } = await stream.receive();
      await stream.close();
      expectWithheld({ data: null, errors });
    });

    it('does not tell by its rejection whose account it is', async () => {
      const rejectionOf = async (id: string) => {
        const { data, errors } = await app.gql(`{ post(id: "${id}") { author { email } } }`, { key });
        return { data, errors };
      };
      expect(await rejectionOf(own)).toEqual(await rejectionOf(theirs));
    });
  });
});
