import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import {
  CONNECTION_COORDINATES,
  type Connection,
  pageArguments,
  readPage,
  seedLists,
} from '../../../support/lists.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

const app = useApp();
let key = '';
let connections: readonly Connection[] = [];

beforeAll(async () => {
  key = (await app.account()).key;
  connections = await seedLists(app, key, 12);
});

describe.each(CONNECTION_COORDINATES)('%s', (coordinate) => {
  const connection = (): Connection => {
    const found = connections.find((candidate) => candidate.coordinate === coordinate);
    if (found === undefined) throw new Error(`${coordinate} has no content`);
    return found;
  };
  const page = (args = '') => readPage(app, key, connection(), args);
  const rejected = (args: string) => app.gql(connection().query(args, '{ nodes { id } }'), { key });

  it('has edges and nodes alike, and cursors that say where the page lies', async () => {
    const { edges, nodes, pageInfo } = await page('first: 3');
    expect(edges.map(({ node }) => node)).toEqual(nodes);
    expect(nodes).toHaveLength(3);
    expect(new Set(edges.map(({ cursor }) => cursor)).size).toBe(3);
    expect(pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: edges[0]?.cursor,
      endCursor: edges[2]?.cursor,
    });
  });

  it('takes `first` and `limit` for the same, and rejects both at once', async () => {
    expect(await page('first: 2')).toEqual(await page('limit: 2'));
    expect(await page('first: 2, limit: null')).toEqual(await page('first: null, limit: 2'));
    expectBadInput(await rejected('first: 2, limit: 2'), 'first', /limit/);
  });

  it('takes null for absent', async () => {
    expect(await page('first: null, limit: null, after: null')).toEqual(await page());
  });

  it('says that there is a previous page exactly when `after` is given', async () => {
    const { edges } = await page('first: 1');
    const next = await page(pageArguments(100, edges[0]?.cursor));
    expect(next.pageInfo.hasPreviousPage).toBe(true);
    expect(next.pageInfo.hasNextPage).toBe(false);
    expect(next.nodes.length).toBeGreaterThan(0);
  });

  it('has no edges and null cursors at `first: 0`, and after the end', async () => {
    const none = await page('first: 0');
    expect(none).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: true, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
    const { pageInfo } = await page('first: 100');
    expect(await page(pageArguments(5, pageInfo.endCursor))).toEqual({
      edges: [],
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null },
    });
  });
});

describe('Cursors', () => {
  it('of one list tell nothing of another’s rows', async () => {
    const query = '{ users: usersConnection(first: 1) { edges { cursor } } }';
    const { users } = dataOf(await app.gql(query, { key }));
    const [posts] = connections.filter(({ coordinate }) => coordinate === 'User.postsConnection');
    if (posts === undefined) throw new Error('no connection of posts');
    const page = await readPage(app, key, posts, pageArguments(100, users.edges[0].cursor));
    expect(page.pageInfo.hasPreviousPage).toBe(true);
  });
});
