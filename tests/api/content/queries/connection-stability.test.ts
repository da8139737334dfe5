import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { createComment, createPost, past, seedPosts } from '../../../support/content.ts';
import { connectionsOf, pageArguments, readPage } from '../../../support/lists.ts';
import { dataOf } from '../../../support/rejection.ts';

/** What others do between two pages: insert a post somewhere, or delete the one at a place. */
type Change = { readonly insertAt: number } | { readonly deleteAt: number };

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ insertAt: fc.integer({ min: 0, max: 8 }) }),
  fc.record({ deleteAt: fc.nat(20) }),
);

describe('Connections while others write', () => {
  const app = useApp();

  const postsOf = (id: string) => {
    const [posts] = connectionsOf(id, '').filter(({ coordinate }) => coordinate === 'User.postsConnection');
    if (posts === undefined) throw new Error('no connection of posts');
    return posts;
  };
  const deletePost = async ({ key }: Account, id: string) =>
    expect(dataOf(await app.gql(`mutation { deletePost(id: "${id}") }`, { key }))).toEqual({
      deletePost: true,
    });

  it('give every row that is there from the first page to the last exactly once, in order', async () => {
    const rounds = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.array(change, { maxLength: 3 })), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(rounds, async (turns) => {
        const author = await app.account();
        const posts = postsOf(author.id);
        const seed = (ms: number) => ({ authorId: author.id, createdAt: past(ms) });
        const original = await seedPosts(app, [4, 4, 0, 2, 6, 2, 2, 8, 1, 4].map(seed));
        const alive = [...original];
        const { nodes: order } = await readPage(app, author.key, posts, 'first: 100');
        const walked: string[] = [];
        let after: string | null = null;
        let more = true;
        for (let turn = 0; more; turn += 1) {
          const [size, changes] = turns[turn % turns.length] ?? [1, []];
          const page = await readPage(app, author.key, posts, pageArguments(size, after));
          walked.push(...page.nodes.map(({ id }) => id));
          more = page.pageInfo.hasNextPage;
          after = page.pageInfo.endCursor;
          // New rows may lie ahead for ever: the others stop writing at some time.
          for (const step of turn < 8 ? changes : []) {
            if ('insertAt' in step) await seedPosts(app, [seed(step.insertAt)]);
            else if (alive.length > 0) {
              const [gone = ''] = alive.splice(step.deleteAt % alive.length, 1);
              await deletePost(author, gone);
            }
          }
        }
        expect(new Set(walked).size).toBe(walked.length);
        const lasting = new Set(alive);
        expect(walked.filter((id) => lasting.has(id))).toEqual(
          order.map(({ id }) => id).filter((id) => lasting.has(id)),
        );
      }),
      { numRuns: 12 },
    );
  });

  it('go on after a cursor whose own post is gone, and whose neighbours are', async () => {
    const author = await app.account();
    const posts = postsOf(author.id);
    const ids = await seedPosts(
      app,
      [4, 3, 2, 2, 1].map((ms) => ({ authorId: author.id, createdAt: past(ms) })),
    );
    const { pageInfo } = await readPage(app, author.key, posts, 'first: 2');
    for (const id of ids.slice(0, 3)) await deletePost(author, id);
    const rest = await readPage(app, author.key, posts, pageArguments(100, pageInfo.endCursor));
    expect(rest.nodes.map(({ id }) => id)).toEqual([ids[3], ids[4]]);
    expect(rest.pageInfo.hasPreviousPage).toBe(true);
  });

  it('go on after a comment that is gone', async () => {
    const author = await app.account();
    const postId = await createPost(app, author.key);
    const [comments] = connectionsOf('', postId).filter(({ list }) => list.includes('comments'));
    if (comments === undefined) throw new Error('no connection of comments');
    const ids: string[] = [];
    for (const body of ['one', 'two', 'three']) ids.push(await createComment(app, author.key, postId, body));
    const { pageInfo } = await readPage(app, author.key, comments, 'first: 2');
    dataOf(await app.gql(`mutation { deleteComment(id: "${ids[1]}") }`, { key: author.key }));
    const rest = await readPage(app, author.key, comments, pageArguments(5, pageInfo.endCursor));
    expect(rest.nodes).toEqual([{ id: ids[2] }]);
  });
});
