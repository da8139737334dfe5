import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { gqlAs, visitor } from '../../support/credentials/session.ts';
import { dataOf, expectBadInput, expectRejected } from '../../support/rejection.ts';

const RENAME = 'mutation ($name: String!) { updateViewer(name: $name) { id name email role } }';

describe('Mutation.updateViewer', () => {
  const app = useApp();

  it('changes one’s own name, as everybody sees it from then on', async () => {
    const me = await visitor(app, { name: 'Old' });
    const post = await createPost(app, me.key);
    const other = await app.account({ name: 'Other' });
    const name = ' Schön 👩‍🚀 ';
    expect(dataOf(await gqlAs(app, me.cookie, RENAME, { variables: { name } })).updateViewer).toEqual({
      id: me.id,
      name,
      email: me.email,
      role: 'MEMBER',
    });
    const query = `{ post(id: "${post}") { author { name } } viewer { name } }`;
    expect(dataOf(await app.gql(query, { key: other.key }))).toEqual({
      post: { author: { name } },
      viewer: { name: 'Other' },
    });
    const known = await app.fetch('/login', { headers: { cookie: me.cookie } });
    expect(await known.json()).toMatchObject({ user: { id: me.id, name } });
  });

  it('takes 1 to 100 code points', async () => {
    const { cookie } = await visitor(app, { name: 'Old' });
    const rename = (name: string) => gqlAs(app, cookie, RENAME, { variables: { name } });
    expectBadInput(await rename(''), 'name');
    expectBadInput(await rename('x'.repeat(101)), 'name', /1 to 100/);
    expectBadInput(await rename('a\0'), 'name', /NUL/);
    expectBadInput(await rename('\ud83d'), 'name', /surrogate/);
    expect(dataOf(await gqlAs(app, cookie, '{ viewer { name } }')).viewer.name).toBe('Old');
    expect(dataOf(await rename('👩'.repeat(100))).updateViewer.name).toBe('👩'.repeat(100));
  });

  it('is rejected if the session ends in the same operation, and nothing is changed', async () => {
    const { key, cookie } = await visitor(app, { name: 'Old' });
    const { sessions } = dataOf(await gqlAs(app, cookie, '{ viewer { sessions { id } } }')).viewer;
    const both = `mutation { revokeSession(id: "${sessions[0].id}") updateViewer(name: "New") { name } }`;
    expectRejected(await gqlAs(app, cookie, both), { code: 'UNAUTHENTICATED', status: 401 });
    expect(dataOf(await app.gql('{ viewer { name } }', { key })).viewer.name).toBe('Old');
  });
});
