import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf, expectForbidden } from '../../../support/rejection.ts';

const SELECTION = '{ id title body tags commentCount createdAt author { id } }';
const UPDATE = `mutation ($id: ID!, $title: String, $body: String, $tags: [String!]) {
  updatePost(id: $id, title: $title, body: $body, tags: $tags) ${SELECTION} }`;

describe('Mutation.updatePost', () => {
  const app = useApp();

  const update = ({ key }: Account, id: string, changes: Record<string, unknown>) =>
    app.gql(UPDATE, { key, variables: { id, ...changes } });
  const read = async ({ key }: Account, id: string) =>
    dataOf(await app.gql(`{ post(id: "${id}") ${SELECTION} }`, { key })).post;

  it.each([
    ['the title', { title: 'New' }],
    ['the body', { body: ' New\n' }],
    ['the tags', { tags: ['new', 'a'] }],
    ['the tags away', { tags: [] }],
    ['everything', { title: 'New', body: 'New', tags: ['new'] }],
    ['nothing', {}],
  ])('changes %s and leaves the rest', async (_what, changes) => {
    const author = await app.account();
    const id = await createPost(app, author.key, { title: 'Old', tags: ['a', 'b'] });
    await createComment(app, author.key, id);
    const before = await read(author, id);
    const { updatePost } = dataOf(await update(author, id, changes));
    expect(updatePost).toEqual({ ...before, ...changes });
    expect(await read(author, id)).toEqual(updatePost);
  });

  it('takes null for absent', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key, { tags: ['a'] });
    const before = await read(author, id);
    const { updatePost } = dataOf(await update(author, id, { title: null, body: null, tags: null }));
    expect(updatePost).toEqual(before);
  });

  it('is for the author and admins', async () => {
    const [author, other, admin] = [
      await app.account(),
      await app.account(),
      await app.account({ role: 'admin' }),
    ];
    const id = await createPost(app, author.key, { title: 'Old' });
    expectForbidden(await update(other, id, { title: 'Theirs' }));
    expect((await read(author, id)).title).toBe('Old');
    const { updatePost } = dataOf(await update(admin, id, { title: 'Moderated' }));
    expect(updatePost).toMatchObject({ title: 'Moderated', author: { id: author.id } });
  });

  it('keeps one of two concurrent changes whole', async () => {
    const author = await app.account();
    const id = await createPost(app, author.key);
    const versions = ['a', 'b', 'c', 'd'].map((name) => ({
      title: name,
      body: name,
      tags: [name, `${name}2`],
    }));
    const responses = await Promise.all(versions.map((version) => update(author, id, version)));
    expect(responses.map((response) => dataOf(response).updatePost)).toMatchObject(versions);
    const { title, body, tags } = await read(author, id);
    expect(versions).toContainEqual({ title, body, tags });
  });
});
