import { expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createPost, seedPosts } from '../../../support/content.ts';
import { statementsOf } from '../../../support/database/watched-statements.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';

const app = useApp();

const find = async (key: string, slug: string) =>
  dataOf(
    await app.gql('query ($slug: String!) { postBySlug(slug: $slug) { id slug } }', {
      key,
      variables: { slug },
    }),
  ).postBySlug;
const rename = async (key: string, id: string, slug: string) =>
  dataOf(await app.gql(`mutation { updatePost(id: "${id}", slug: "${slug}") { id } }`, { key }));

it('postBySlug finds a post by its slug, and null where there is none', async () => {
  const { key } = await app.account();
  const id = await createPost(app, key, { title: 'Find me' });
  expect(await find(key, 'find-me')).toEqual({ id, slug: 'find-me' });
  for (const slug of ['find', 'Find-Me', 'find me', '', 'x'.repeat(1_000)])
    expect(await find(key, slug)).toBeNull();
});

it('postBySlug finds a post by each of its former slugs, with the current slug', async () => {
  const { key } = await app.account();
  const id = await createPost(app, key, { title: 'First name' });
  for (const slug of ['second-name', 'third-name', 'first-name', 'fourth-name']) await rename(key, id, slug);
  for (const slug of ['first-name', 'second-name', 'third-name', 'fourth-name'])
    expect(await find(key, slug)).toEqual({ id, slug: 'fourth-name' });
});

it('A former slug that another post takes leads to that post, and then to the last post that had it', async () => {
  const { key } = await app.account();
  const old = await createPost(app, key, { title: 'Contested' });
  await rename(key, old, 'contested-before');
  const next = await createPost(app, key, { title: 'Contested' });
  expect(await find(key, 'contested')).toEqual({ id: next, slug: 'contested' });
  await rename(key, next, 'contested-after');
  expect(await find(key, 'contested')).toEqual({ id: next, slug: 'contested-after' });
  await app.gql(`mutation { deletePost(id: "${next}") }`, { key });
  expect(await find(key, 'contested')).toBeNull();
  expect(await find(key, 'contested-before')).toEqual({ id: old, slug: 'contested-before' });
});

it('The slug of a post that an older version has inserted is its id', async () => {
  const { key, id: authorId } = await app.account();
  const [id = ''] = await seedPosts(app, [{ authorId }]);
  expect(await find(key, id)).toEqual({ id, slug: id });
  await rename(key, id, 'a-slug-at-last');
  expect(await find(key, id)).toEqual({ id, slug: 'a-slug-at-last' });
  expect(await app.prisma.formerSlug.count({ where: { postId: id } })).toBe(0);
});

it('postBySlug needs posts:read, and is one statement with everything that is selected', async () => {
  const { key } = await app.account();
  await createPost(app, key, { title: 'All in one' });
  const query =
    '{ postBySlug(slug: "all-in-one") { slug title author { name } tags comments { body } } none: postBySlug(slug: "no-such-post") { id } }';
  const reads = (await statementsOf(app, key, query)).filter(({ text }) => /\bposts\b/.test(text));
  expect(reads).toHaveLength(1);
  const other = await app.account({ scopes: ['users:read'] });
  const rejected = await app.gql('{ postBySlug(slug: "all-in-one") { id } }', { key: other.key });
  expectRejected(rejected, { code: 'FORBIDDEN' });
  expect(rejected.data).toEqual({ postBySlug: null });
});
