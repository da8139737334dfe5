import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { dataOf } from '../../../support/rejection.ts';

describe('Mutations of several fields', () => {
  const app = useApp();
  const author = useAccount(app);

  const run = (query: string) => app.gql(query, { key: author.key });
  const read = async (id: string) =>
    dataOf(await run(`{ post(id: "${id}") { title tags commentCount comments { body } } }`)).post;

  it('run one after the other, each seeing what those before it wrote', async () => {
    const id = await createPost(app, author.key, { title: 'Zero', tags: ['zero'] });
    const selection = '{ title tags author { posts(limit: 1) { title } } }';
    const query = `mutation {
      a: updatePost(id: "${id}", title: "One") ${selection}
      b: updatePost(id: "${id}", tags: ["two"]) ${selection}
      c: updatePost(id: "${id}", title: "Three") ${selection}
      gone: deletePost(id: "${id}")
      again: deletePost(id: "${id}") }`;
    const step = (title: string, tag: string) => ({ title, tags: [tag], author: { posts: [{ title }] } });
    expect(dataOf(await run(query))).toEqual({
      a: step('One', 'zero'),
      b: step('One', 'two'),
      c: step('Three', 'two'),
      gone: true,
      again: false,
    });
  });

  it('read commentCount and comments afresh after each', async () => {
    const id = await createPost(app, author.key);
    const comment = (body: string) =>
      `createComment(postId: "${id}", body: "${body}") { post { commentCount comments { body } } }`;
    const created = dataOf(
      await run(`mutation { a: ${comment('a')} b: ${comment('b')} c: ${comment('c')} }`),
    );
    const state = (...bodies: string[]) => ({
      post: { commentCount: bodies.length, comments: bodies.map((body) => ({ body })) },
    });
    expect(created).toEqual({ a: state('a'), b: state('a', 'b'), c: state('a', 'b', 'c') });
  });

  it('read commentCount afresh after deletions in between', async () => {
    const id = await createPost(app, author.key);
    const comment = `createComment(postId: "${id}", body: "x") { id post { commentCount } }`;
    const first = dataOf(await run(`mutation { ${comment} }`)).createComment;
    const query = `mutation {
      a: ${comment} gone: deleteComment(id: "${first.id}") b: ${comment} again: deleteComment(id: "${first.id}")
      last: updatePost(id: "${id}") { commentCount } }`;
    expect(dataOf(await run(query))).toMatchObject({
      a: { post: { commentCount: 2 } },
      gone: true,
      b: { post: { commentCount: 2 } },
      again: false,
      last: { commentCount: 2 },
    });
  });

  it('undo a field whose payload is rejected, the event of a new post with it', async () => {
    const stranger = await app.account();
    const theirs = await createPost(app, stranger.key);
    const count = () => app.prisma.event.count();
    const events = await count();
    const response = await run(`mutation {
      a: createPost(title: "undone ${author.id}", body: "b") { id }
      b: createComment(postId: "${theirs}", body: "undone") { post { author { email } } } }`);
    expect(response).toMatchObject({ status: 403, data: null });
    expect(response.errors?.[0]?.path).toEqual(['b', 'post', 'author', 'email']);
    expect((await read(theirs)).commentCount).toBe(0);
    expect(await app.prisma.post.count({ where: { title: `undone ${author.id}` } })).toBe(0);
    expect(await count()).toBe(events);
  });
});
