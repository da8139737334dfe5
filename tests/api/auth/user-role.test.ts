import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const app = useApp();
const member = useAccount(app, { name: 'Member' });
const other = useAccount(app, { name: 'Other' });
const admin = useAccount(app, { name: 'Admin', role: 'admin' });

describe('User.role', () => {
  const ALL = '{ users(limit: 10) { name role } }';

  it('is one’s own, and null for others', async () => {
    expect(dataOf(await app.gql(ALL, { key: member.key })).users).toEqual([
      { name: 'Member', role: 'MEMBER' },
      { name: 'Other', role: null },
      { name: 'Admin', role: null },
    ]);
    // The same text, and so the same plan.
    expect(dataOf(await app.gql(ALL, { key: other.key })).users).toEqual([
      { name: 'Member', role: null },
      { name: 'Other', role: 'MEMBER' },
      { name: 'Admin', role: null },
    ]);
  });

  it('is everybody’s for admins', async () => {
    expect(dataOf(await app.gql(ALL, { key: admin.key })).users).toEqual([
      { name: 'Member', role: 'MEMBER' },
      { name: 'Other', role: 'MEMBER' },
      { name: 'Admin', role: 'ADMIN' },
    ]);
  });

  it('is the same by every way that leads to an account', async () => {
    const [own, theirs] = [await createPost(app, member.key), await createPost(app, other.key)];
    const query = `{ viewer { role } user(id: "${other.id}") { role } node(id: "${member.id}") { ... on User { r: role } }
      own: post(id: "${own}") { author { role } } theirs: post(id: "${theirs}") { author { role again: role } } }`;
    const expected = {
      viewer: { role: 'MEMBER' },
      user: { role: null },
      node: { r: 'MEMBER' },
      own: { author: { role: 'MEMBER' } },
      theirs: { author: { role: null, again: null } },
    };
    expect(dataOf(await app.gql(query, { key: member.key }))).toEqual(expected);
    const mutation = 'mutation { createPost(title: "t", body: "b") { author { role } } }';
    expect(dataOf(await app.gql(mutation, { key: admin.key })).createPost.author).toEqual({ role: 'ADMIN' });
  });

  it('is one’s present role, in a session too', async () => {
    const { id, cookie } = await visitor(app);
    const role = async () => dataOf(await gqlAs(app, cookie, '{ viewer { role } }')).viewer.role;
    expect(await role()).toBe('MEMBER');
    await app.prisma.user.update({ where: { id }, data: { role: 'admin' }, select: { id: true } });
    await expect.poll(role).toBe('ADMIN');
  });

  it('needs the scope users:read', async () => {
    const { key } = await app.account({ scopes: ['posts:read'] });
    await createPost(app, member.key);
    const response = await app.gql('{ posts(limit: 1) { author { role } } }', { key });
    expectRejected(response, { code: 'FORBIDDEN', message: /users:read/ });
    expect(response.data).toEqual({ posts: [{ author: { role: null } }] });
  });

  it('cannot be selected in a subscription, which many share', async () => {
    const query = 'subscription { postCreated { author { ...R } } } fragment R on User { role }';
    const response = await app.gql(query, { key: member.key, headers: { accept: 'text/event-stream' } });
    expectRejected(response, { code: 'BAD_USER_INPUT', message: /"role".*subscription/ });
    const without = 'subscription { postCreated { author { name role @skip(if: true) } } }';
    const stream = await subscribe(app, { query: without, key: member.key });
    await createPost(app, member.key);
    expect((await stream.stream.next()).data).toEqual({ postCreated: { author: { name: 'Member' } } });
    const token = await app.fetch('/graphql/stream-token', {
      method: 'POST',
      headers: { authorization: `Bearer ${member.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    expect(await token.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
  });
});
