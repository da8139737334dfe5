import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/auth/scopes.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { dataOf, expectForbidden } from '../../support/refusal.ts';

describe('User.email', () => {
  const app = useApp();
  const emailOf = (id: string, key: string) => app.gql(`{ user(id: "${id}") { name email } }`, { key });

  it('is there for one’s own account, whichever way leads to it', async () => {
    const { id, email, key } = await app.account();
    const post = await createPost(app, key);
    const query = `{ viewer { email } user(id: "${id}") { email } post(id: "${post}") { author { email } } }`;
    expect(dataOf(await app.gql(query, { key }))).toEqual({
      viewer: { email },
      user: { email },
      post: { author: { email } },
    });
  });

  it('is FORBIDDEN for others to members: the user is null then, and the rest is answered', async () => {
    const other = await app.account();
    const { id, email, key } = await app.account();
    const query = `{ other: user(id: "${other.id}") { name email } own: user(id: "${id}") { email } }`;
    const answer = await app.gql(query, { key });
    expect(answer.status).toBe(200);
    expect(answer.data).toEqual({ other: null, own: { email } });
    expect(answer.errors).toMatchObject([{ path: ['other', 'email'], extensions: { code: 'FORBIDDEN' } }]);
  });

  it('takes the whole answer with it where nothing on the way up may be null: 403', async () => {
    await app.account();
    const { key } = await app.account();
    expectForbidden(await app.gql('{ users(limit: 100) { name email } }', { key }));
  });

  it('is there for admins whose key has users:email', async () => {
    const { id, email } = await app.account();
    const admin = await app.account({ role: 'admin' });
    expect(dataOf(await emailOf(id, admin.key))).toEqual({ user: { name: 'Someone', email } });
  });

  it('is FORBIDDEN to admins whose key lacks users:email', async () => {
    const { id } = await app.account();
    const scopes = SCOPES.filter((scope) => scope !== 'users:email');
    const answer = await emailOf(id, (await app.account({ role: 'admin', scopes })).key);
    expect(answer.data).toEqual({ user: null });
    expect(answer.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  it('is FORBIDDEN to members even where a key was granted users:email: only admins can hold it', async () => {
    const { id } = await app.account();
    const answer = await emailOf(id, (await app.account({ scopes: SCOPES })).key);
    expect(answer.data).toEqual({ user: null });
    expect(answer.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  it('is never told by the error that refuses it', async () => {
    const { id, email } = await app.account();
    const answer = await emailOf(id, (await app.account()).key);
    expect(JSON.stringify(answer)).not.toContain(email);
  });
});
