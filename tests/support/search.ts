import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../src/database/database.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';
import { createSearchIndexer, type SearchIndexerOptions } from '../../src/schema/search/indexer.ts';
import type { TestApp } from './app.ts';
import { dataOf } from './rejection.ts';

type Indexer = ReturnType<typeof createSearchIndexer>;

/** An indexer that makes a step only when it is asked to. */
export const createIndexer = (
  app: Pick<TestApp, 'database'>,
  options: Partial<SearchIndexerOptions> = {},
): Indexer =>
  createSearchIndexer({
    database: app.database,
    log: createLogger({ level: 'silent', pretty: false }),
    metrics: createMetrics(),
    isElected: async () => true,
    ...options,
  });

/** The number of events that the index has not followed, or that a transaction of somebody else holds up. */
async function countEventsAhead({ prisma }: TestApp): Promise<number> {
  const [row] = await prisma.$queryRawUnsafe<{ ahead: number }[]>(
    `SELECT count(*)::int AS ahead FROM events e LEFT JOIN search_position p ON true LEFT JOIN events f ON f.id = p.event_id
     WHERE f.id IS NULL OR (e.era, e.xid, e.id) > (f.era, f.xid, f.id)`,
  );
  return row?.ahead ?? 0;
}

/** Makes steps until the index has all that is committed. */
export async function catchUp(app: TestApp, indexer: Indexer): Promise<void> {
  for (;;) {
    while (await indexer.step());
    if ((await countEventsAhead(app)) === 0) return;
    await delay(20);
  }
}

/** The same database, whose `nth` statement of a transaction fails as if the process had been killed before it. */
export function killedAt(database: Database, nth: number): Database {
  let left = nth;
  return {
    ...database,
    unitOfWork(...given) {
      const work = database.unitOfWork(...given);
      const query = work.query.bind(work);
      work.query = (statement, values) => {
        left -= 1;
        return left < 0 ? Promise.reject(new Error('killed')) : query(statement, values);
      };
      return work;
    },
  };
}

const PAGE = `query ($query: String!, $filter: PostFilter, $first: Int, $after: String) {
  searchPosts(query: $query, filter: $filter, first: $first, after: $after) {
    edges { cursor node { id title } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

export interface Crawled {
  readonly ids: readonly string[];
  readonly pages: number;
  /** The number of pages with fewer posts than requested although the list continues. */
  readonly shortPages: number;
}

/** Reads all pages. */
export async function crawl(
  app: Pick<TestApp, 'gql'>,
  key: string,
  { first = 20, ...variables }: { query: string; filter?: object; first?: number },
): Promise<Crawled> {
  const ids: string[] = [];
  let [pages, shortPages] = [0, 0];
  for (let after: string | null = null; ; ) {
    const response = await app.gql(PAGE, { key, variables: { ...variables, first, after } });
    const { nodes, pageInfo } = dataOf(response).searchPosts;
    for (const { id } of nodes) ids.push(id);
    pages += 1;
    if (!pageInfo.hasNextPage) return { ids, pages, shortPages };
    if (nodes.length < first) shortPages += 1;
    after = pageInfo.endCursor;
  }
}
