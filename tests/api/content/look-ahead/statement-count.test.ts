import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useAccount, useApp } from '../../../support/app.ts';
import { past, seedComments, seedPosts } from '../../../support/content.ts';
import { useCountedDatabase } from '../../../support/database/statement-count.ts';
import { dataOf } from '../../../support/rejection.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

const POSTS = 100;
const AUTHORS = 10;

describe('The number of SQL statements of a request', () => {
  // Held still, the clock keeps the credential cached: what is counted is the request's own work.
  const now = Date.now();
  const counted = useCountedDatabase();
  const app = useApp({ settings: counted.settings, clock: clockOf(() => now) });
  const reader = useAccount(app);

  beforeAll(async () => {
    const authors = await Promise.all(Array.from({ length: AUTHORS }, () => app.account()));
    const commenters = await Promise.all(Array.from({ length: AUTHORS }, () => app.account()));
    const idOf = (accounts: readonly Account[], index: number) => accounts[index % AUTHORS]?.id ?? '';
    const posts = await seedPosts(
      app,
      Array.from({ length: POSTS }, (_, index) => ({
        authorId: idOf(authors, index),
        createdAt: past(index),
        tags: ['tagged', `t${index}`],
      })),
    );
    await seedComments(
      app,
      posts.flatMap((postId, index) =>
        [0, 1, 2, 3].map((turn) => ({
          postId,
          authorId: idOf(commenters, index + turn),
          createdAt: past(turn),
        })),
      ),
    );
  });

  /** What the database completed while `work` ran, by command tags without their row counts. */
  async function completedBy(work: () => Promise<unknown>): Promise<string[]> {
    const before = counted.completed.length;
    await work();
    return counted.completed.slice(before).map((tag) => tag.replace(/ \d.*$/, ''));
  }

  /** Expects the same statements for one row as for a hundred, and at most one a level; returns both responses. */
  async function expectSame(levels: number, query: (limit: number) => string) {
    const ask = async (limit: number) => dataOf(await app.gql(query(limit), { key: reader.key }));
    const responses = { one: await ask(1), hundred: await ask(POSTS) };
    const forOne = await completedBy(() => ask(1));
    expect(await completedBy(() => ask(POSTS))).toEqual(forOne);
    const reads = forOne.filter((tag) => tag === 'SELECT').length;
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThanOrEqual(levels);
    return responses;
  }

  it('is the same for lists in lists of one post and of a hundred', async () => {
    const { one, hundred } = await expectSame(
      5,
      (limit) =>
        `{ posts(limit: ${limit}) { author { posts(limit: 5) { commentCount comments(limit: 3) { author { name } } } } } }`,
    );
    expect(one.posts).toHaveLength(1);
    expect(hundred.posts).toHaveLength(POSTS);
    for (const { author } of hundred.posts) {
      expect(author.posts).toHaveLength(5);
      for (const post of author.posts) expect([post.commentCount, post.comments.length]).toEqual([4, 3]);
    }
  });

  it('is the same through connections, with tags beside them', async () => {
    const { hundred } = await expectSame(
      5,
      (limit) =>
        `{ postsConnection(first: ${limit}, tag: "tagged") { edges { cursor node { tags
          commentsConnection(first: 2) { nodes { author { name } post { title } } pageInfo { hasNextPage } } } } } }`,
    );
    expect(hundred.postsConnection.edges).toHaveLength(POSTS);
    expect(hundred.postsConnection.edges[0].node.commentsConnection.pageInfo.hasNextPage).toBe(true);
  });

  it('is the same for aliases of different arguments', async () => {
    await expectSame(
      4,
      (limit) => `{ posts(limit: ${limit}) { id
        a: comments(limit: 1) { id } b: comments(limit: 2) { id } c: comments(limit: 1, offset: 1) { id } } }`,
    );
  });

  it.each([
    [
      'beside a root field that is left to its resolver',
      'tags author { name }',
      'node(id: "none") { id }',
      {},
    ],
    ['for a value under two names', 'a: tags b: tags author { name c: role d: role }', '__typename', {}],
    ['for a query that asks for its cost', 'tags author { name }', '__typename', { 'x-show-cost': '1' }],
  ])('is one %s', async (_what, selection, other, headers) => {
    const ask = async () => {
      const query = `{ posts(limit: ${POSTS}, tag: "tagged") { ${selection} } ${other} viewer { id } }`;
      return dataOf(await app.gql(query, { key: reader.key, headers }));
    };
    const data = await ask();
    expect(data.posts).toHaveLength(POSTS);
    expect(Object.keys(data)).toEqual(['posts', other === '__typename' ? other : 'node', 'viewer']);
    expect(await completedBy(ask)).toEqual(['SELECT']);
  });

  it('is the same for lists in lists of what a mutation returns, which loaders read', async () => {
    const other = await app.account();
    const posts = await seedPosts(
      app,
      Array.from({ length: POSTS }, (_, index) => ({
        authorId: reader.id,
        createdAt: past(index),
        tags: ['own'],
      })),
    );
    await seedComments(
      app,
      posts.flatMap((postId) => [0, 1].map((ms) => ({ postId, authorId: other.id, createdAt: past(ms) }))),
    );
    const update = (limit: number) =>
      app.gql(
        `mutation { updatePost(id: "${posts[0]}") { author { posts(limit: ${limit}) { tags
          comments(limit: 2) { author { name } } commentsConnection(first: 1) { nodes { id } pageInfo { hasNextPage } } } } } }`,
        { key: reader.key },
      );
    const { updatePost } = dataOf(await update(POSTS));
    expect(updatePost.author.posts).toHaveLength(POSTS);
    for (const post of updatePost.author.posts)
      expect([post.tags, post.comments.length, post.commentsConnection.pageInfo.hasNextPage]).toEqual([
        ['own'],
        2,
        true,
      ]);
    const forOne = await completedBy(() => update(1));
    // Statements inside a transaction are counted one by one.
    expect(forOne).toEqual(expect.arrayContaining(['BEGIN', 'SELECT', 'COMMIT']));
    expect(await completedBy(() => update(POSTS))).toEqual(forOne);
  });

  it('is one for the queue of a post, two for a change and one for a deletion', async () => {
    const [id] = await seedPosts(app, [{ authorId: reader.id, tags: ['before'] }]);
    const run = (mutation: string) => async () =>
      dataOf(await app.gql(`mutation { ${mutation} }`, { key: reader.key }));
    const change = run(`updatePost(id: "${id}", title: "new", body: "new", tags: ["after"]) { id }`);
    expect(await completedBy(change)).toEqual(['BEGIN', 'SELECT', 'SELECT', 'SELECT', 'COMMIT']);
    expect(await completedBy(run(`deletePost(id: "${id}")`))).toEqual([
      'BEGIN',
      'SELECT',
      'SELECT',
      'COMMIT',
    ]);
  });

  it('is zero where nothing of the database is asked for', async () => {
    const schema = async () => dataOf(await app.gql('{ __typename }', { key: reader.key }));
    await schema();
    expect(await completedBy(schema)).toEqual([]);
  });
});
