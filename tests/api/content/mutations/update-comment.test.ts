import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf, expectForbidden, expectRejected } from '../../../support/rejection.ts';

const SELECTION = '{ id body createdAt author { id } post { id commentCount } }';
const UPDATE = `mutation ($id: ID!, $body: String!) { updateComment(id: $id, body: $body) ${SELECTION} }`;

describe('Mutation.updateComment', () => {
  const app = useApp();

  const update = ({ key }: Account, id: string, body: string) =>
    app.gql(UPDATE, { key, variables: { id, body } });
  const read = async ({ key }: Account, id: string) =>
    dataOf(await app.gql(`{ node(id: "${id}") { ... on Comment ${SELECTION} } }`, { key })).node;

  it('changes the text, unchanged as it is given, and nothing else', async () => {
    const author = await app.account();
    const id = await createComment(app, author.key, await createPost(app, author.key), 'Old.');
    const before = await read(author, id);
    const body = '\n  Schön! 👩‍🚀\u202e ';
    expect(dataOf(await update(author, id, body)).updateComment).toEqual({ ...before, body });
    expect(await read(author, id)).toEqual({ ...before, body });
    // An id is one whatever its letters.
    expect(dataOf(await update(author, id.toUpperCase(), 'New.')).updateComment.body).toBe('New.');
  });

  it('is for its author and admins, not for the author of the post', async () => {
    const [postAuthor, author] = [await app.account(), await app.account()];
    const admin = await app.account({ role: 'admin' });
    const id = await createComment(app, author.key, await createPost(app, postAuthor.key), 'Old.');
    expectForbidden(await update(postAuthor, id, 'Theirs.'));
    expectForbidden(await update(await app.account(), id, 'Theirs.'));
    expect((await read(author, id)).body).toBe('Old.');
    expect(dataOf(await update(author, id, 'Mine.')).updateComment.body).toBe('Mine.');
    expect(dataOf(await update(admin, id, 'Moderated.')).updateComment).toMatchObject({
      body: 'Moderated.',
      author: { id: author.id },
    });
  });

  it('and the deletion of its post come one after the other', async () => {
    const author = await app.account();
    const postId = await createPost(app, author.key);
    const id = await createComment(app, author.key, postId, 'Old.');
    const changes = ['a', 'b', 'c'].map((body) => update(author, id, body));
    const deletion = app.gql(`mutation { deletePost(id: "${postId}") }`, { key: author.key });
    expect(dataOf(await deletion)).toEqual({ deletePost: true });
    for (const response of await Promise.all(changes))
      if (response.data === null) expectRejected(response, { code: 'NOT_FOUND' });
      else expect(dataOf(response).updateComment.id).toBe(id);
    expect(await read(author, id)).toBeNull();
  });
});
