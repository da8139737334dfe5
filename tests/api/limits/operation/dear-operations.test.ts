import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { past, seedPosts } from '../../../support/content.ts';
import { planOf, statementsOf } from '../../../support/database/watched-statements.ts';

const AUTHORS = 400;
const POSTS_EACH = 5;
const OF_THE_PROLIFIC = 2_000;
const PAGE = 20;

describe('What PostgreSQL does for an operation', () => {
  const app = useApp();
  let key = '';

  beforeAll(async () => {
    const prolific = await app.account();
    key = prolific.key;
    const others = await app.prisma.user.createManyAndReturn({
      data: Array.from({ length: AUTHORS }, (_, index) => ({
        id: crypto.randomUUID(),
        name: `Author ${index}`,
        email: `author-${index}@dear.example`,
        emailKey: `author-${index}@dear.example`,
      })),
    });
    const authors = others.flatMap(({ id }) => Array.from({ length: POSTS_EACH }, () => id));
    authors.push(...Array.from({ length: OF_THE_PROLIFIC }, () => prolific.id));
    // Scattered, as posts are: the posts of one author stand on pages all over the table.
    const posts = authors
      .map((authorId, index) => ({ authorId, createdAt: past(index), at: (index * 7_919) % authors.length }))
      .toSorted((a, b) => a.at - b.at);
    await seedPosts(
      app,
      posts.map(({ authorId, createdAt }) => ({ authorId, createdAt })),
    );
    await app.prisma.$executeRawUnsafe('VACUUM ANALYZE posts');
  });

  async function planOfResponse(query: string, options: string): Promise<string> {
    const written = (await statementsOf(app, key, query)).find(({ text }) => text.includes(' AS data'));
    if (written === undefined) throw new Error('the database did not write the answer');
    return planOf(app, written, options);
  }

  it('is bounded by the pages that are asked for, however many posts an author has', async () => {
    const page = `postsConnection(first: ${PAGE}) { edges { cursor node { title body } } pageInfo { hasNextPage } }`;
    const query = `{ posts(limit: 25) { author { postsConnection(first: 1) { nodes { author { ${page} } } } } } }`;
    const plan = await planOfResponse(query, 'ANALYZE');
    const rows = [...plan.matchAll(/"Relation Name":"posts".*?"Actual Rows":(\d+)/g)].map(([, n]) =>
      Number(n),
    );
    expect(rows.length).toBeGreaterThan(0);
    // The root list has 25, each page one more than it shows.
    expect(Math.max(...rows)).toBeLessThanOrEqual(25);
  });

  it('is to write a column once, however many names it has', async () => {
    const query = '{ posts(limit: 3) { a: body title b: body c: body } }';
    const plan = await planOfResponse(query, 'VERBOSE');
    // Some of the servers that tests run on quote all names.
    expect(plan.replaceAll('\\"', '').match(/to_json\(\w+\.body\)/g)).toHaveLength(1);
  });
});
