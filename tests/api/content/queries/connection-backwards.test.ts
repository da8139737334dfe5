import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { past, seedPosts } from '../../../support/content.ts';
import {
  CONNECTION_COORDINATES,
  type Connection,
  connectionsOf,
  type Page,
  pageArguments,
  pageBefore,
  readList,
  readPage,
  seedLists,
} from '../../../support/lists.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

const COUNT = 30;
const RUNS = 12;

const app = useApp();
let key = '';
let connections: readonly Connection[] = [];

beforeAll(async () => {
  key = (await app.account()).key;
  connections = await seedLists(app, key, COUNT);
});

const idsOf = ({ nodes }: Page) => nodes.map(({ id }) => id);

describe.each(CONNECTION_COORDINATES)('%s, backwards', (coordinate) => {
  const connection = (): Connection => {
    const found = connections.find((candidate) => candidate.coordinate === coordinate);
    if (found === undefined) throw new Error(`${coordinate} has no content`);
    return found;
  };
  const page = (args: string) => readPage(app, key, connection(), args);
  const rejected = (args: string) => app.gql(connection().query(args, '{ nodes { id } }'), { key });

  it('yields exactly the list, whatever the page sizes', async () => {
    const list = await readList(app, key, connection());
    const sizes = fc.array(fc.integer({ min: 1, max: 11 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, async (given) => {
        let ids: string[] = [];
        let before: string | null = null;
        for (let turn = 0; ; turn += 1) {
          const size: number = given[turn % given.length] ?? 1;
          const { nodes, edges, pageInfo }: Page = await page(pageBefore(size, before));
          ids = [...nodes.map(({ id }) => id), ...ids];
          expect(edges.map(({ node }) => node)).toEqual(nodes);
          expect(pageInfo).toMatchObject({
            hasNextPage: before !== null,
            startCursor: edges[0]?.cursor,
            endCursor: edges.at(-1)?.cursor,
          });
          if (!pageInfo.hasPreviousPage) break;
          expect(nodes).toHaveLength(size);
          before = pageInfo.startCursor;
        }
        expect(ids).toEqual(list);
      }),
      { numRuns: RUNS },
    );
  });

  it('gives the items on either side of any cursor, by any of the arguments', async () => {
    const list = await readList(app, key, connection());
    const { edges } = await page('first: 100');
    const places = fc.integer({ min: 0, max: edges.length - 1 });
    const sizes = fc.integer({ min: 0, max: 12 });
    await fc.assert(
      fc.asyncProperty(places, sizes, async (place, size) => {
        const cursor = JSON.stringify(edges[place]?.cursor);
        const [left, right] = [list.slice(0, place), list.slice(place + 1)];
        const last = (ids: readonly string[]) => ids.slice(Math.max(ids.length - size, 0));
        const before = await page(`last: ${size}, before: ${cursor}`);
        expect(idsOf(before)).toEqual(last(left));
        expect(before.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: left.length > size });
        const end = await page(`last: ${size}, after: ${cursor}`);
        expect(idsOf(end)).toEqual(last(right));
        expect(end.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
        const after = await page(pageArguments(size, edges[place]?.cursor));
        expect(idsOf(after)).toEqual(right.slice(0, size));
        expect(after.pageInfo).toMatchObject({ hasNextPage: right.length > size, hasPreviousPage: true });
        const beginning = await page(`first: ${size}, before: ${cursor}`);
        expect(idsOf(beginning)).toEqual(left.slice(0, size));
        expect(beginning.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
      }),
      { numRuns: RUNS },
    );
  });

  it('has 20 items where only `before` is given', async () => {
    const { edges } = await page('first: 100');
    const cursor = JSON.stringify(edges.at(-1)?.cursor);
    expect(await page(`before: ${cursor}`)).toEqual(await page(`last: 20, before: ${cursor}`));
  });

  it('has no edges and null cursors at `last: 0`, and before the beginning', async () => {
    expect(await page('last: 0')).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null },
    });
    const { pageInfo } = await page('first: 1');
    expect(await page(pageBefore(5, pageInfo.startCursor))).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  it('takes null for absent', async () => {
    const first = await page('first: 3');
    expect(await page('first: 3, last: null, before: null')).toEqual(first);
    expect(await page('last: 3, first: null, limit: null, after: null, before: null')).toEqual(
      await page('last: 3'),
    );
  });

  it('rejects what does not go together, sizes out of range and strings that are no cursors', async () => {
    const { pageInfo } = await page('first: 1');
    const cursor = JSON.stringify(pageInfo.endCursor);
    expectBadInput(await rejected('first: 1, last: 1'), 'last');
    expectBadInput(await rejected('limit: 1, last: 1'), 'last');
    expectBadInput(await rejected(`last: 1, after: ${cursor}, before: ${cursor}`), 'before');
    expectBadInput(await rejected(`first: 1, after: ${cursor}, before: ${cursor}`), 'before');
    expectBadInput(await rejected('last: -1'), 'last', /0 to 100/);
    expectBadInput(await rejected('last: 101'), 'last', /0 to 100/);
    expectBadInput(await rejected('last: 1, before: "nonsense"'), 'before', /cursor/);
  });
});

describe('What a page costs', () => {
  it('is the same for `last` and `first`', async () => {
    const costOf = async (args: string) => {
      const query = `{ postsConnection(${args}) { nodes { id comments(limit: 3) { id } } } }`;
      const { extensions } = await app.gql(query, { key, headers: { 'x-show-cost': '1' } });
      return extensions?.cost;
    };
    expect(await costOf('last: 7')).toEqual(await costOf('first: 7'));
  });
});

describe('Pages of both directions while others write', () => {
  /** What others do between two pages: insert a post somewhere, or delete the one at a place. */
  const change = fc.oneof(
    fc.record({ insertAt: fc.integer({ min: 0, max: 8 }) }),
    fc.record({ deleteAt: fc.nat(20) }),
  );
  const turn = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.array(change, { maxLength: 3 }));

  it('have the rows that are there all the time exactly once, in the same order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 8 }), fc.boolean(), async (turns, first) => {
        const author: Account = await app.account();
        const posts = connectionsOf(author.id, '').find((one) => one.coordinate === 'User.postsConnection');
        if (posts === undefined) throw new Error('no connection of posts');
        const seed = (ms: number) => ({ authorId: author.id, createdAt: past(ms) });
        const alive = await seedPosts(app, [4, 4, 0, 2, 6, 2, 2, 8, 1, 4].map(seed));
        const order = idsOf(await readPage(app, author.key, posts, 'first: 100'));
        async function walk(backwards: boolean): Promise<string[]> {
          let walked: string[] = [];
          let cursor: string | null = null;
          for (let at = 0; ; at += 1) {
            const [size, changes] = turns[at % turns.length] ?? [1, []];
            const args: string = backwards ? pageBefore(size, cursor) : pageArguments(size, cursor);
            const read: Page = await readPage(app, author.key, posts as Connection, args);
            walked = backwards ? [...idsOf(read), ...walked] : [...walked, ...idsOf(read)];
            const { hasNextPage, hasPreviousPage, startCursor, endCursor } = read.pageInfo;
            if (!(backwards ? hasPreviousPage : hasNextPage)) return walked;
            cursor = backwards ? startCursor : endCursor;
            // New rows may lie ahead for ever: the others stop writing at some time.
            for (const step of at < 6 ? changes : []) {
              if ('insertAt' in step) await seedPosts(app, [seed(step.insertAt)]);
              else if (alive.length > 0) {
                const [gone] = alive.splice(step.deleteAt % alive.length, 1);
                dataOf(await app.gql(`mutation { deletePost(id: "${gone}") }`, { key: author.key }));
              }
            }
          }
        }
        const walks = [await walk(first), await walk(!first)];
        const lasting = new Set(alive);
        for (const walked of walks) {
          expect(new Set(walked).size).toBe(walked.length);
          expect(walked.filter((id) => lasting.has(id))).toEqual(order.filter((id) => lasting.has(id)));
        }
      }),
      { numRuns: RUNS },
    );
  });
});
