import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { adminCommand } from '../../../support/admin-command.ts';
import { ORIGIN, useAccount, useApp } from '../../../support/app.ts';
import { createPost, past, seedPosts } from '../../../support/content.ts';
import { graphqlPost, readResponse } from '../../../support/graphql.ts';
import { readMetric } from '../../../support/metrics.ts';
import { seededRandom } from '../../../support/random.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';
import {
  beforeTransactions,
  catchUp,
  crawl,
  createIndexer,
  expectAllFound,
  killedAt,
  QUERIES,
  randomWords,
} from '../../../support/search.ts';
import { secondInstance } from '../../../support/second-instance.ts';

const app = useApp();
const author = useAccount(app);

const find = async (query: string, filter?: object) =>
  (await crawl(app, author.key, { query, ...(filter && { filter }) })).ids;

describe('a search', () => {
  const indexer = () => createIndexer(app);
  const ids = new Map<string, string>();
  const TEXTS: Readonly<Record<string, readonly [title: string, body: string]>> = {
    coffee: ['Café crème', 'The quick brown fox jumps over the lazy dog.'],
    node: ['Node.js v1.2.3', 'A server, it’s fast: the brown quick one.'],
    tokyo: ['東京都に住んでいます', '全文検索2020'],
    straße: ['Große Straße', 'İstanbul and ΣΊΣΥΦΟΣ'],
  };
  beforeAll(async () => {
    for (const [name, [title, body]] of Object.entries(TEXTS))
      ids.set(name, await createPost(app, author.key, { title, body, tags: [name, 'all'] }));
    await catchUp(app, indexer());
  });

  it.each([
    ['quick', ['node', 'coffee']],
    ['QUICK brown', ['node', 'coffee']],
    ['"quick brown"', ['coffee']],
    ['brown -"quick brown"', ['node']],
    ['quick -fox', ['node']],
    ['cafe', ['coffee']],
    ['cafe\u0301 creme', ['coffee']],
    ['qui*', ['node', 'coffee']],
    ['qu*', []],
    ['node.js', ['node']],
    ['js.node', []],
    ['v1.2.3', ['node']],
    ["it's", ['node']],
    ['創', []],
    ['東', ['tokyo']],
    ['都', ['tokyo']],
    ['索', ['tokyo']],
    ['東京都', ['tokyo']],
    ['東都', []],
    ['検索2020', ['tokyo']],
    ['"検索 2020"', ['tokyo']],
    ['文検 2020', ['tokyo']],
    ['"文検 2020"', []],
    ['grosse STRASSE', ['straße']],
    ['istanbul', ['straße']],
    ['σισυφος', ['straße']],
    ['dog. Node', []],
    ['"creme the"', []],
    ['-quick -東京', ['straße']],
    ['nowhere', []],
    ['', []],
    ['" -"', []],
    ["'; DROP TABLE posts; --", []],
    [`~'"\\`, []],
  ])('for %j finds %j', async (query, expected) => {
    expect(await find(query)).toEqual(expected.map((name) => ids.get(name)));
  });

  it('takes any string', async () => {
    const query = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.replaceAll('\0', '')),
      fc
        .array(fc.constantFrom('"', '-', '*', ' ', "'", '&', '|', '!', '<->', ':', '(', 'quick', '東'), {
          maxLength: 40,
        })
        .map((all) => all.join('')),
    );
    await fc.assert(
      fc.asyncProperty(query, async (given) => {
        const { errors } = await app.gql(
          'query ($query: String!) { searchPosts(query: $query) { nodes { id } } }',
          {
            ...author,
            variables: { query: given },
          },
        );
        if (errors !== undefined) expect(errors[0]?.message).toMatch(/at most 8 words|1 to 200|0 to 200/);
      }),
      { numRuns: 200 },
    );
  });

  it('takes an author and tags', async () => {
    expect(await find('quick', { tags: ['all', 'node'] })).toEqual([ids.get('node')]);
    expect(await find('quick', { author: author.id })).toHaveLength(2);
    expect(await find('quick', { author: (await app.account()).id })).toEqual([]);
    expect(await find('quick', { author: 'nobody' })).toEqual([]);
    const other = await app.gql(
      '{ searchPosts(query: "a", filter: { createdAfter: "2020-01-01T00:00:00Z" }) { nodes { id } } }',
      author,
    );
    expectBadInput(other, 'filter');
  });

  it('needs the scope to read posts', async () => {
    const { key } = await app.account({ scopes: ['drafts:read'] });
    const { status, errors } = await app.gql('{ searchPosts(query: "a") { nodes { id } } }', { key });
    expect([status, errors?.[0]?.extensions.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('costs as much as the rows that it may read', async () => {
    const fields = (count: number) =>
      Array.from(
        { length: count },
        (_, n) => `s${n}: searchPosts(query: "quick", first: 1) { nodes { id } }`,
      );
    dataOf(await app.gql(`{ ${fields(6).join(' ')} }`, author));
    const { errors } = await app.gql(`{ ${fields(7).join(' ')} }`, author);
    expect(errors?.[0]?.extensions.code).toBe('COMPLEXITY_LIMIT');
  });

  it('shows the current version, and no deleted post, before the index follows', async () => {
    const id = await createPost(app, author.key, { title: 'Fleeting', body: 'B' });
    await catchUp(app, indexer());
    dataOf(await app.gql(`mutation { updatePost(id: "${id}", title: "Changed") { id } }`, author));
    const { searchPosts } = dataOf(
      await app.gql('{ searchPosts(query: "fleeting") { nodes { title } } }', author),
    );
    expect(searchPosts.nodes).toEqual([{ title: 'Changed' }]);
    dataOf(await app.gql(`mutation { deletePost(id: "${id}") }`, author));
    expect(await find('fleeting')).toEqual([]);
    await catchUp(app, indexer());
    expect(await app.prisma.searchEntry.count({ where: { postId: id } })).toBe(0);
  });
});

const expectAll = async (key: string): Promise<number> =>
  expectAllFound(
    app,
    key,
    await app.prisma.post.findMany({ orderBy: [{ createdAt: 'desc' }, { id: 'desc' }] }),
    7,
  );

describe('The index', () => {
  it('has every committed change, whatever kills the indexer, while buckets fill up', async () => {
    await app.prisma.post.deleteMany();
    await app.prisma.searchPosition.deleteMany();
    await app.prisma.searchBucket.deleteMany();
    await app.prisma.searchEntry.deleteMany();
    await app.prisma.tagCount.deleteMany();
    const random = seededRandom('search: posts');
    const kills = seededRandom('search: kills');
    const bucketPosts = 3;
    const past = Array.from({ length: 230 }, (_, index) => ({
      authorId: author.id,
      createdAt: new Date(Date.UTC(2020, 0, 1) + Math.floor(index / 3)),
      title: randomWords(random),
      body: index < 3 ? 'zebra' : randomWords(random),
    }));
    const known = await seedPosts(app, past);
    let stop = false;
    const indexing = (async () => {
      while (!stop) {
        const database = killedAt(app.database, kills.below(12));
        const indexer = createIndexer(app, { bucketPosts, database });
        for (let steps = 0; steps < 4; steps += 1)
          await indexer.step().catch(({ message }: Error) => expect(message).toBe('killed'));
      }
    })();
    const writer = async (label: string) => {
      const random = seededRandom(`search: ${label}`);
      for (let count = 0; count < 25; count += 1) {
        const id = random.pick(known);
        const [title, body] = [randomWords(random), randomWords(random)];
        const change = random.below(4);
        if (change < 2) known.push(await createPost(app, author.key, { title, body }));
        else {
          const field =
            change === 2 ? `updatePost(id: $id, title: $title, body: $body) { id }` : `deletePost(id: $id)`;
          const types = change === 2 ? '$id: ID!, $title: String, $body: String' : '$id: ID!';
          await app.gql(`mutation (${types}) { ${field} }`, { ...author, variables: { id, title, body } });
        }
      }
    };
    await Promise.all(['one', 'two', 'three'].map(writer));
    stop = true;
    await indexing;
    await catchUp(app, createIndexer(app, { bucketPosts }));
    expect(await app.prisma.searchBucket.count()).toBeGreaterThan(80);
    // A prefix searches 64 buckets for a page.
    expect(await expectAll(author.key)).toBeGreaterThan(0);
    const entries = await app.prisma.searchEntry.count();
    expect(entries).toBe(await app.prisma.post.count());
    await app.prisma.searchPosition.updateMany({
      data: { phase: 'posts', rewrites: true, revision: { increment: 1 } },
    });
    await catchUp(app, createIndexer(app, { bucketPosts }));
    await expectAll(author.key);
  }, 120_000);

  it('gives resolvers the same pages as the database', async () => {
    const loading = secondInstance(app, { lookAhead: false });
    for (const query of QUERIES) {
      const first = await crawl(app, author.key, { query, first: 5 });
      const gql = async (text: string, options?: object) =>
        readResponse(await loading.fetch('/graphql', graphqlPost(text, options)));
      expect(await crawl({ gql }, author.key, { query, first: 5 })).toEqual(first);
    }
  });

  it.each(['has lost them', 'is another log'])('finds the changes if the log %s', async (loss) => {
    const indexer = createIndexer(app);
    await catchUp(app, indexer);
    const [gone, changed] = (await find('bee')) as [string, string];
    const created = await createPost(app, author.key, { title: 'bee bee', body: 'new' });
    dataOf(await app.gql(`mutation { deletePost(id: "${gone}") }`, author));
    dataOf(await app.gql(`mutation { updatePost(id: "${changed}", title: "x", body: "x") { id } }`, author));
    const { id } = await app.prisma.event.findFirstOrThrow({ orderBy: { id: 'desc' } });
    // Retention deletes the oldest events.
    await app.prisma.event.deleteMany({ where: { id: loss === 'has lost them' ? { lt: id } : { lte: id } } });
    if (loss === 'is another log')
      await app.prisma.searchPosition.updateMany({ data: { generation: 'another' } });
    while (await indexer.step());
    const found = await find('bee');
    expect(found).toContain(created);
    expect(found).not.toContain(gone);
    expect(found).not.toContain(changed);
    expect(await app.prisma.searchEntry.count({ where: { postId: gone } })).toBe(0);
  });

  it('has the newest words of a post although a slower instance has read older ones', async () => {
    await catchUp(app, createIndexer(app));
    const id = await createPost(app, author.key, { title: 'Kite' });
    let isOvertaken = false;
    const overtake = async () => {
      if (isOvertaken) return;
      isOvertaken = true;
      dataOf(await app.gql(`mutation { updatePost(id: "${id}", title: "Wren") { id } }`, author));
      await catchUp(app, createIndexer(app));
    };
    const slow = createIndexer(app, { database: beforeTransactions(app.database, overtake) });
    while (!isOvertaken) await Promise.allSettled([slow.step()]);
    expect(await find('kite')).toEqual([]);
    expect(await find('wren')).toEqual([id]);
  });
});

describe('A page of a search', () => {
  const own = useApp();

  it('reads a bounded number of entries, and the next page continues', async () => {
    const { id: authorId, key } = await own.account();
    const bucketPosts = 100;
    const posts = Array.from({ length: 41 * bucketPosts }, (_, at) => ({
      authorId,
      createdAt: past(at),
      title: at === 0 ? 'red kite' : 'kite red',
    }));
    const [oldest] = await seedPosts(own, posts);
    await catchUp(own, createIndexer(own, { bucketPosts }));
    const crawled = await crawl(own, key, { query: '"red kite"' });
    // A page ends at the bucket in which it has read 4,000 entries.
    expect(crawled).toEqual({ ids: [oldest], pages: 2, shortPages: 1 });
  }, 120_000);

  it('ends between two buckets, and no post is lost there', async () => {
    const { key } = await own.account();
    const ids: string[] = [];
    // A prefix searches 64 buckets for a page.
    while (ids.length < 66) {
      ids.unshift(await createPost(own, key, { title: 'Zebra' }));
      await catchUp(own, createIndexer(own, { bucketPosts: 1 }));
    }
    const crawled = await crawl(own, key, { query: 'zeb*', first: 100 });
    expect(crawled).toEqual({ ids, pages: 2, shortPages: 1 });
  });
});

describe('tags', () => {
  const read = async (args: string) =>
    dataOf(
      await app.gql(
        `{ tags(${args}) { nodes { name postCount } pageInfo { hasNextPage endCursor } } }`,
        author,
      ),
    ).tags;

  async function crawlTags(args: string, first: number) {
    const names: string[] = [];
    for (let after = ''; ; ) {
      const { nodes, pageInfo } = await read(`${args} first: ${first} ${after}`);
      for (const { name, postCount } of nodes) names.push(`${name} ${postCount}`);
      if (!pageInfo.hasNextPage) return names;
      after = `after: "${pageInfo.endCursor}"`;
    }
  }

  beforeAll(async () => {
    await app.prisma.post.deleteMany();
    const tagged = [['b', 'a'], ['a', 'B'], ['a', 'bc', 'é'], ['bc'], ['b']];
    for (const tags of tagged) await createPost(app, author.key, { tags });
    await app.prisma.searchPosition.updateMany({
      data: { phase: 'posts', phaseId: null, revision: { increment: 1 } },
    });
    await catchUp(app, createIndexer(app));
  });

  it.each([1, 2, 20])('are sorted by their number of posts, in pages of %d', async (first) => {
    expect(await crawlTags('orderBy: POST_COUNT', first)).toEqual(['a 3', 'b 2', 'bc 2', 'B 1', 'é 1']);
    expect(await crawlTags('orderBy: NAME', first)).toEqual(['B 1', 'a 3', 'b 2', 'bc 2', 'é 1']);
    expect(await crawlTags('prefix: "b"', first)).toEqual(['b 2', 'bc 2']);
    expect(await crawlTags('prefix: "b", orderBy: NAME', first)).toEqual(['b 2', 'bc 2']);
    expect(await crawlTags('prefix: "%"', first)).toEqual([]);
  });

  it('follow changes and deletions of posts', async () => {
    const id = await createPost(app, author.key, { tags: ['fresh', 'a'] });
    await catchUp(app, createIndexer(app));
    expect(await crawlTags('prefix: "fresh"', 5)).toEqual(['fresh 1']);
    dataOf(await app.gql(`mutation { updatePost(id: "${id}", tags: ["a", "other"]) { id } }`, author));
    await catchUp(app, createIndexer(app));
    expect(await crawlTags('prefix: "fresh"', 5)).toEqual([]);
    expect((await crawlTags('', 20))[0]).toBe('a 4');
    dataOf(await app.gql(`mutation { deletePost(id: "${id}") }`, author));
    await catchUp(app, createIndexer(app));
    expect(await crawlTags('', 20)).toEqual(['a 3', 'b 2', 'bc 2', 'B 1', 'é 1']);
  });

  it('with a prefix, cost as much as the 1,000 tags that a page reads, and the next page continues', async () => {
    const data = Array.from({ length: 1_000 }, (_, at) => ({ name: `x${at}`, postCount: 9 }));
    await app.prisma.tagCount.createMany({ data });
    const { nodes, pageInfo } = await read('prefix: "b"');
    expect([nodes, pageInfo.hasNextPage]).toEqual([[], true]);
    expect(await crawlTags('prefix: "b"', 20)).toEqual(['b 2', 'bc 2']);
    await app.prisma.tagCount.deleteMany({ where: { postCount: 9 } });
    const costOf = async (args: string) => {
      const query = `{ tags(${args}) { nodes { name } } }`;
      const { extensions } = await app.gql(query, { ...author, headers: { 'x-show-cost': '1' } });
      return extensions?.cost;
    };
    expect(await costOf('first: 1')).toMatchObject({ complexity: 3 });
    expect(await costOf('first: 1, prefix: "b"')).toMatchObject({ complexity: 103 });
  });

  it('reject a cursor of another order', async () => {
    const { pageInfo } = await read('first: 1');
    expectBadInput(
      await app.gql(`{ tags(orderBy: NAME, after: "${pageInfo.endCursor}") { nodes { name } } }`, author),
      'after',
    );
    expectBadInput(await app.gql('{ tags(after: "x") { nodes { name } } }', author), 'after');
  });
});

describe('An instance that listens', () => {
  const own = useApp();

  it('indexes each commit soon, and shows how far it is behind', async () => {
    const { key } = await own.account();
    own.app.listensAt(ORIGIN);
    const id = await createPost(own, key, { title: 'Promptly', tags: ['prompt'] });
    await expect
      .poll(async () => (await crawl(own, key, { query: 'promptly' })).ids, { timeout: 20_000 })
      .toEqual([id]);
    await expect.poll(() => readMetric(own, 'content_graph_search_posts_behind')).toBe(0);
    expect(await readMetric(own, 'content_graph_search_lag_seconds')).toBe(0);
    dataOf(await own.gql(`mutation { deletePost(id: "${id}") }`, { key }));
    await expect.poll(() => own.prisma.tagCount.count(), { timeout: 20_000 }).toBe(0);
  });

  it('writes every entry again after "search rebuild"', async () => {
    const { key } = await own.account();
    own.app.listensAt(ORIGIN);
    const id = await createPost(own, key, { title: 'Rebuilt' });
    const found = async () => (await crawl(own, key, { query: 'rebuilt' })).ids;
    await expect.poll(found, { timeout: 20_000 }).toEqual([id]);
    const damaged = `UPDATE search_entries SET document = '' WHERE post_id = '${id}'`;
    expect(await own.prisma.$executeRawUnsafe(damaged)).toBe(1);
    expect(await found()).toEqual([]);
    expect((await adminCommand(own, ['search', 'rebuild'])).json).toEqual({ rebuilding: true });
    await expect.poll(found, { timeout: 20_000 }).toEqual([id]);
  });
});
