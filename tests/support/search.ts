import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { statement } from '../../src/database/statement.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import { createMetrics } from '../../src/platform/metrics/metrics.ts';
import { createSearchIndexer, type SearchIndexerOptions } from '../../src/schema/search/indexer.ts';
import { isFound } from '../model/words.ts';
import type { TestApp } from './app.ts';
import type { Random } from './random.ts';
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
export const EVENTS_AHEAD = `SELECT count(*)::int AS ahead FROM events e LEFT JOIN search_position p ON true
   LEFT JOIN events f ON f.id = p.event_id WHERE f.id IS NULL OR (e.era, e.xid, e.id) > (f.era, f.xid, f.id)`;
const COUNT_AHEAD = statement<{ readonly ahead: number }>('test_events_ahead', EVENTS_AHEAD);

/** Makes steps until the index has all that is committed. */
export async function catchUp({ database }: Pick<TestApp, 'database'>, indexer: Indexer): Promise<void> {
  for (;;) {
    while (await indexer.step());
    const [row] = await database.query(COUNT_AHEAD, []);
    if (row?.ahead === 0) return;
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

/** The same database, which does something else before each transaction. */
export function beforeTransactions(database: Database, act: () => Promise<void>): Database {
  return {
    ...database,
    unitOfWork(...given) {
      const work = database.unitOfWork(...given);
      const run = work.run.bind(work);
      work.run = async (change) => {
        await act();
        return run(change);
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

const WORDS = ['ant', 'bee', 'cat', 'dog', 'elk', 'emu', 'fox', 'gnu'];

/** A text of few different words, so that queries find many. */
export const randomWords = (random: Random): string =>
  Array.from({ length: 1 + random.below(6) }, () => random.pick(WORDS)).join(' ');

export const QUERIES = [
  'ant',
  'bee cat',
  '"bee cat"',
  'dog -elk',
  'fox -"fox gnu"',
  '-ant',
  'ant bee cat dog elk emu fox gnu',
  'ant*',
  'gnu* -bee',
  '-"emu emu" -cat',
  'zeb*',
] as const;

interface Post {
  readonly id: string;
  readonly title: string;
  readonly body: string;
}

/**
 * Expects that all pages of each query together have the posts that one finds by reading all of them, the newest first.
 * The number of short pages.
 */
export async function expectAllFound(
  app: Pick<TestApp, 'gql'>,
  key: string,
  posts: readonly Post[],
  first: number,
): Promise<number> {
  let shortPages = 0;
  for (const query of QUERIES) {
    const crawled = await crawl(app, key, { query, first });
    const expected = posts.filter((post) => isFound(query, post)).map(({ id }) => id);
    expect(crawled.ids, query).toEqual(expected);
    shortPages += crawled.shortPages;
  }
  return shortPages;
}
