import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import {
  CONNECTION_COORDINATES,
  type Connection,
  pageArguments,
  readList,
  readPage,
  seedLists,
} from '../../../support/lists.ts';

const COUNT = 30;
const RUNS = 12;

describe('A walk through a connection, page by page', () => {
  const app = useApp();
  let key = '';
  let connections: readonly Connection[] = [];

  beforeAll(async () => {
    key = (await app.account()).key;
    connections = await seedLists(app, key, COUNT);
  });

  /** Reads to the end with the sizes given, from the first again after the last. */
  async function walk(connection: Connection, sizes: readonly number[]): Promise<string[]> {
    const ids: string[] = [];
    let after: string | null = null;
    for (let turn = 0; ; turn += 1) {
      const size: number = sizes[turn % sizes.length] ?? 1;
      const { nodes, pageInfo } = await readPage(app, key, connection, pageArguments(size, after));
      ids.push(...nodes.map(({ id }) => id));
      expect(pageInfo.hasPreviousPage).toBe(after !== null);
      if (!pageInfo.hasNextPage) return ids;
      expect(nodes).toHaveLength(size);
      after = pageInfo.endCursor;
    }
  }

  it.each(CONNECTION_COORDINATES)(
    'yields exactly the list, whatever the page sizes: %s',
    async (coordinate) => {
      const connection = connections.find((candidate) => candidate.coordinate === coordinate);
      if (connection === undefined) throw new Error(`${coordinate} has no content`);
      const list = await readList(app, key, connection);
      expect(list.length).toBeGreaterThanOrEqual(COUNT / 2);
      const sizes = fc.array(fc.integer({ min: 1, max: 11 }), { minLength: 1, maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(sizes, async (given) => {
          expect(await walk(connection, given)).toEqual(list);
        }),
        { numRuns: RUNS },
      );
    },
  );
});
