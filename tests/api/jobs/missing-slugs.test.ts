import { expect, it } from 'vitest';
import { CONTENT_LIMITS } from '../../../src/schema/content-limits.ts';
import { missingSlugs } from '../../../src/schema/missing-slugs.ts';
import { useApp } from '../../support/app.ts';
import { createPost, seedPosts } from '../../support/content.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { dataOf } from '../../support/rejection.ts';

const app = useApp();
const newJob = () => missingSlugs(CONTENT_LIMITS);
const missing = () => app.prisma.post.count({ where: { slug: null } });

it('fills the slugs of posts that an older version has inserted, in steps of 500', async () => {
  const { id: authorId, key } = await app.account();
  const created = await createPost(app, key, { title: 'Old title' });
  const ids = await seedPosts(
    app,
    Array.from({ length: 1_200 }, (_, index) => ({
      authorId,
      title: index < 600 ? 'Old title' : `Old ${index}`,
    })),
  );
  let most = 0;
  const database = watchedDatabase(app.database, (_statement, values) => {
    const [of] = values;
    if (Array.isArray(of)) most = Math.max(most, of.length);
  });
  await newJob().run(database);
  expect(await missing()).toBe(0);
  // Five slugs are looked up for each post.
  expect(most).toBe(2_500);
  const posts = await app.prisma.post.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } });
  expect(posts.slice(0, 3).map(({ slug }) => slug)).toEqual(['old-title-2', 'old-title-3', 'old-title-4']);
  expect(posts[3]?.slug).toMatch(/^old-title-[a-z0-9]{6}$/);
  expect(posts[600]?.slug).toBe('old-600');
  expect(posts.every(({ version, updatedAt }) => version === 1 && updatedAt === null)).toBe(true);
  const { post } = dataOf(await app.gql(`{ post(id: "${created}") { slug } }`, { key }));
  expect(post.slug).toBe('old-title');
});

it('fills the slugs of posts that are inserted while it runs, and leaves the other posts alone', async () => {
  const { id: authorId, key } = await app.account();
  const job = newJob();
  const kept = await createPost(app, key, { title: 'Kept' });
  await seedPosts(app, [{ authorId, title: 'One' }]);
  await job.run(app.database);
  await seedPosts(app, [
    { authorId, title: 'Kept' },
    { authorId, title: 'One' },
  ]);
  await job.run(app.database);
  expect(await missing()).toBe(0);
  const slugs = await app.prisma.post.findMany({
    where: { authorId },
    orderBy: { id: 'asc' },
    select: { slug: true },
  });
  expect(slugs.map(({ slug }) => slug)).toEqual(['kept', 'one', 'kept-2', 'one-2']);
  expect(dataOf(await app.gql(`{ postBySlug(slug: "kept") { id } }`, { key })).postBySlug.id).toBe(kept);
});

it('stops between two steps', async () => {
  const { id: authorId } = await app.account();
  await seedPosts(app, [{ authorId }]);
  await newJob().run(app.database, AbortSignal.abort());
  expect(await missing()).toBe(1);
});

it('goes on where a new post takes a slug that it was about to give', async () => {
  const { id: authorId, key } = await app.account();
  await seedPosts(app, [{ authorId, title: 'Raced' }]);
  const job = newJob();
  let raced = false;
  const database = watchedDatabase(app.database, async ({ name }) => {
    if (raced || !name.startsWith('post_slugs_fill')) return;
    raced = true;
    await createPost(app, key, { title: 'Raced' });
  });
  await job.run(database);
  expect(raced).toBe(true);
  expect(await missing()).toBeGreaterThan(0);
  await job.run(database);
  expect(await missing()).toBe(0);
});
