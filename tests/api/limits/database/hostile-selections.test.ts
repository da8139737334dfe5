import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { readMetricBy } from '../../../support/metrics.ts';
import { repeated } from '../../../support/schema/repeated.ts';

describe('A selection that costs few points', () => {
  const app = useApp({ settings: { MAX_ALIASES: '1000' } });

  const databaseResponses = async () =>
    (await readMetricBy(app.app, 'content_graph_graphql_execution_paths_total', 'path')).get(
      'database_response',
    ) ?? 0;

  it('is left to loaders if the facts about its pages are more subqueries than a statement may have', async () => {
    const { key } = await app.account();
    const pageInfo = 'pageInfo { hasNextPage startCursor endCursor }';
    const connections = (count: number) =>
      repeated(count, (i) => `c${i}: postsConnection(limit: 0) { nodes { id } ${pageInfo} }`);
    const before = await databaseResponses();
    const few = await app.gql(`{ ${connections(10)} }`, { key });
    expect([few.status, (await databaseResponses()) - before]).toEqual([200, 1]);
    const many = await app.gql(`{ ${connections(30)} }`, { key });
    expect([many.status, (await databaseResponses()) - before]).toEqual([200, 1]);
    expect(many.data.c29).toEqual(few.data.c9);
  });

  it('has each fact about a page once in its statement, under however many names', async () => {
    const { key } = await app.account();
    const names = repeated(40, (i) => `e${i}: endCursor n${i}: hasNextPage`);
    const query = `{ a: postsConnection(limit: 0) { pageInfo { ${names} } b: pageInfo { ${names} } } }`;
    const before = await databaseResponses();
    const { data } = await app.gql(query, { key });
    expect((await databaseResponses()) - before).toBe(1);
    expect(data.a.b).toEqual(data.a.pageInfo);
    expect(Object.keys(data.a.b)).toHaveLength(80);
  });
});
