import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { past, seedPosts } from '../../../support/content.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

const app = useApp();

interface Made {
  readonly id: string;
  readonly author: string;
  readonly tags: readonly string[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Few enough that a list of 15 posts checks all of them. */
const COUNT = 75;
let made: Made[] = [];
let keys: { readonly id: string; readonly key: string }[] = [];

beforeAll(async () => {
  keys = [await app.account(), await app.account()];
  const posts = Array.from({ length: COUNT }, (_, index) => ({
    authorId: keys[index % 3 === 0 ? 1 : 0]?.id ?? '',
    createdAt: past(index * 1_000),
    tags: ['all', ...(index % 2 === 0 ? ['even'] : []), ...(index % 40 === 7 ? ['rare'] : [])],
  }));
  const ids = await seedPosts(app, posts);
  made = await Promise.all(
    posts.map(async ({ authorId, createdAt, tags }, index) => {
      const id = ids[index] ?? '';
      // Every fifth post was changed, in the order of the opposite of the posts.
      const updatedAt = index % 5 === 0 ? past((1_000 - index) * 1_000) : null;
      if (updatedAt !== null) await app.prisma.post.update({ where: { id }, data: { updatedAt } });
      return { id, author: authorId, tags, createdAt, updatedAt: updatedAt ?? createdAt };
    }),
  );
});

const ask = (query: string, variables = {}) => app.gql(query, { key: keys[0]?.key, variables });

const ORDERS = {
  NEWEST: (a: Made, b: Made) => b.createdAt.getTime() - a.createdAt.getTime(),
  OLDEST: (a: Made, b: Made) => a.createdAt.getTime() - b.createdAt.getTime(),
  RECENTLY_UPDATED: (a: Made, b: Made) => b.updatedAt.getTime() - a.updatedAt.getTime(),
} as const;

type Order = keyof typeof ORDERS;

const instant = (index: number) => past(index * 1_000);

/** Filters as they stand in a document, with what they say of a post. */
const FILTERS: readonly (readonly [string, () => string, (post: Made) => boolean])[] = [
  ['nothing', () => '{}', () => true],
  ['an author', () => `{ author: "${keys[1]?.id}" }`, ({ author }) => author === keys[1]?.id],
  [
    'an id in upper case',
    () => `{ author: "${keys[1]?.id.toUpperCase()}" }`,
    ({ author }) => author === keys[1]?.id,
  ],
  ['no such author', () => '{ author: "nobody" }', () => false],
  ['a tag', () => '{ tags: ["rare"] }', ({ tags }) => tags.includes('rare')],
  ['two tags', () => '{ tags: ["all", "rare"] }', ({ tags }) => tags.includes('rare')],
  ['one tag twice', () => '{ tags: ["even", "even"] }', ({ tags }) => tags.includes('even')],
  ['tags that no post has', () => '{ tags: ["even", "rare"] }', () => false],
  ['no tags', () => '{ tags: [] }', () => true],
  [
    'an author and a tag',
    () => `{ author: "${keys[1]?.id}", tags: ["rare"] }`,
    ({ author, tags }) => author === keys[1]?.id && tags.includes('rare'),
  ],
  [
    'creation between two times',
    () => `{ createdAfter: "${instant(10).toISOString()}", createdBefore: "${instant(20).toISOString()}" }`,
    ({ createdAt }) => createdAt > instant(10) && createdAt < instant(20),
  ],
  [
    'a change after a time',
    () => `{ updatedAfter: "${instant(950).toISOString()}" }`,
    ({ updatedAt }) => updatedAt > instant(950),
  ],
  [
    'everything',
    () =>
      `{ author: "${keys[0]?.id}", tags: ["all", "even"], createdAfter: "${instant(5).toISOString()}", createdBefore: "${instant(90).toISOString()}", updatedAfter: "${instant(40).toISOString()}" }`,
    (post) =>
      post.author === keys[0]?.id &&
      post.tags.includes('even') &&
      post.createdAt > instant(5) &&
      post.createdAt < instant(90) &&
      post.updatedAt > instant(40),
  ],
];

interface Page {
  readonly nodes: readonly { readonly id: string }[];
  readonly pageInfo: Record<'hasNextPage' | 'hasPreviousPage', boolean> &
    Record<'startCursor' | 'endCursor', string>;
}

/** Reads a list to its end in one direction, and checks that every page gets on. */
async function crawl(field: (args: string) => string, size: number, backwards: boolean): Promise<string[]> {
  const [count, cursor] = backwards ? ['last', 'before'] : ['first', 'after'];
  const ids: string[] = [];
  let at: string | null = null;
  for (let pages = 0; pages <= COUNT; pages += 1) {
    const query = `query ($at: String) { ${field(`${count}: ${size}, ${cursor}: $at`)} }`;
    const data: { readonly list?: Page; readonly parent?: { readonly list: Page } } = dataOf(
      await ask(query, { at }),
    );
    const list = data.list ?? data.parent?.list;
    if (list === undefined) throw new Error('no list');
    const { nodes, pageInfo } = list;
    expect(nodes.length).toBeLessThanOrEqual(size);
    const found = nodes.map(({ id }) => id);
    if (backwards) ids.unshift(...found);
    else ids.push(...found);
    if (!(backwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return ids;
    const next = backwards ? pageInfo.startCursor : pageInfo.endCursor;
    expect(next).toEqual(expect.any(String));
    expect(next).not.toBe(at);
    at = next;
  }
  throw new Error('the list does not end');
}

const SHOWN = '{ nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';

describe.each(Object.keys(ORDERS) as Order[])('Posts in the order %s', (order) => {
  it.each(FILTERS)('filtered by %s: a crawl has each post once', async (_what, filter, holds) => {
    const expected = made.filter(holds).sort(ORDERS[order]);
    const ids = expected.map(({ id }) => id);
    const narrowed = `orderBy: ${order}, filter: ${filter()}`;
    const all = (args: string) => `list: postsConnection(${args}, ${narrowed}) ${SHOWN}`;
    for (const [size, backwards] of [
      [3, false],
      [1, true],
      [50, false],
    ] as const)
      expect(await crawl(all, size, backwards)).toEqual(ids);
    const author = keys[0]?.id;
    const own = (args: string) =>
      `parent: user(id: "${author}") { list: postsConnection(${args}, ${narrowed}) ${SHOWN} }`;
    const ownIds = expected.filter((post) => post.author === author).map(({ id }) => id);
    for (const backwards of [false, true]) expect(await crawl(own, 4, backwards)).toEqual(ownIds);
  });

  it.each(FILTERS)(
    'filtered by %s: lists have the first posts, and totalCount has all',
    async (_what, filter, holds) => {
      const expected = made.filter(holds).sort(ORDERS[order]);
      const ids = expected.map(({ id }) => id);
      const narrowed = `orderBy: ${order}, filter: ${filter()}`;
      const author = keys[0]?.id;
      const data = dataOf(
        await ask(`{ posts(limit: 15, ${narrowed}) { id } skipped: posts(limit: 10, offset: 5, ${narrowed}) { id }
        connection: postsConnection(first: 0, ${narrowed}) { totalCount }
        user(id: "${author}") { posts(limit: 15, ${narrowed}) { id } postsConnection(first: 1, ${narrowed}) { totalCount } } }`),
      );
      const shown = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
      expect(shown(data.posts)).toEqual(ids.slice(0, 15));
      expect(shown(data.skipped)).toEqual(ids.slice(5, 15));
      expect(data.connection.totalCount).toBe(ids.length);
      const own = expected.filter((post) => post.author === author).map(({ id }) => id);
      expect(shown(data.user.posts)).toEqual(own.slice(0, 15));
      expect(data.user.postsConnection.totalCount).toBe(own.length);
    },
  );

  it('have cursors of this order alone', async () => {
    const query = `{ postsConnection(first: 1, orderBy: ${order}) { pageInfo { endCursor } } }`;
    const { endCursor } = dataOf(await ask(query)).postsConnection.pageInfo;
    for (const other of Object.keys(ORDERS)) {
      const response = await ask(
        `{ postsConnection(orderBy: ${other}, after: "${endCursor}") { nodes { id } } }`,
      );
      if (other === order) dataOf(response);
      else expectBadInput(response, 'after', /same order/);
    }
  });
});

it('A page may be shorter than requested, and its cursor leads past the posts that were read', async () => {
  const query =
    'query ($after: String) { postsConnection(first: 1, after: $after, filter: { tags: ["all", "rare"] }) { nodes { id } pageInfo { hasNextPage startCursor endCursor } } }';
  let after: string | null = null;
  // Each page reads two times five posts, and the first rare post is the 28th.
  for (const count of [0, 0, 1]) {
    const { nodes, pageInfo }: Page = dataOf(await ask(query, { after })).postsConnection;
    expect(nodes).toHaveLength(count);
    expect(pageInfo).toEqual({
      hasNextPage: true,
      startCursor: expect.any(String),
      endCursor: expect.any(String),
    });
    expect(pageInfo.endCursor).not.toBe(after);
    after = pageInfo.endCursor;
  }
});

it('A list reads no more posts than its complexity covers, so it may be shorter than its limit', async () => {
  const posts = 'posts(limit: 1, filter: { tags: ["all", "rare"] }) { id }';
  // Each list reads five posts, and the first rare post is the 28th.
  const data = dataOf(await ask(`{ ${posts} user(id: "${keys[0]?.id}") { ${posts} } }`));
  expect(data).toEqual({ posts: [], user: { posts: [] } });
});

it('The order is NEWEST without orderBy, and OLDEST with the argument createdAfter', async () => {
  const after = instant(60).toISOString();
  const data = dataOf(
    await ask(`{ plain: posts(limit: 2) { id } null: posts(limit: 2, orderBy: null, filter: null) { id }
      since: posts(createdAfter: "${after}", limit: 2) { id } same: posts(createdAfter: "${after}", limit: 2, orderBy: OLDEST) { id }
      filtered: posts(filter: { createdAfter: "${after}" }, limit: 2) { id } tagged: posts(tag: "rare", limit: 1, orderBy: OLDEST) { id } }`),
  );
  const ids = (indices: readonly number[]) => indices.map((index) => ({ id: made[index]?.id }));
  expect(data).toEqual({
    plain: ids([74, 73]),
    null: ids([74, 73]),
    since: ids([61, 62]),
    same: ids([61, 62]),
    filtered: ids([74, 73]),
    tagged: ids([7]),
  });
});

it.each([
  ['posts(createdAfter: "2020-01-01T00:00:00Z", orderBy: NEWEST)', 'orderBy'],
  [
    'posts(createdAfter: "2020-01-01T00:00:00Z", filter: { createdAfter: "2020-01-01T00:00:00Z" })',
    'createdAfter',
  ],
  ['posts(tag: "a", filter: { tags: ["b"] })', 'tag'],
  ['postsConnection(tag: "a", filter: { tags: [] })', 'tag'],
  ['posts(filter: { tags: ["a", "b", "c", "d", "e", "f"] })', 'filter'],
  ['posts(filter: { tags: [""] })', 'filter'],
  ['postsConnection(filter: { tags: ["nul \\u0000"] })', 'filter'],
])('%s is rejected', async (field, argument) => {
  const selection = field.startsWith('postsConnection') ? '{ nodes { id } }' : '{ id }';
  expectBadInput(await ask(`{ ${field} ${selection} }`), argument);
});
