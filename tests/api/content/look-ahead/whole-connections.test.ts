import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { statement } from '../../../../src/database/statement.ts';
import { encodeCursor } from '../../../../src/engine/queries/pagination.ts';
import {
  concatenation,
  cursorJson,
  objectFragments,
  withCursors,
} from '../../../../src/engine/queries/plan/sql-fragments.ts';
import { useAccount, useApp } from '../../../support/app.ts';
import { past, seedComments, seedPosts } from '../../../support/content.ts';
import { graphqlPost, readResponse } from '../../../support/graphql.ts';
import { readMetricBy } from '../../../support/metrics.ts';
import { secondInstance } from '../../../support/second-instance.ts';

/** How many random cursors are compared; `npm run test:look-ahead` asks for more. */
const CURSORS = Number(process.env.CURSORS ?? 10_000);
const BATCH = 1_000;
/** Between them every instant has a cursor, in milliseconds. */
const FIRST = Date.parse('0001-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');
/** Instants at the edges: before and after 1970, with and without milliseconds. */
const EDGES = [
  FIRST,
  LAST,
  -1,
  0,
  1,
  -1_001,
  999,
  1_000,
  Date.UTC(1582, 9, 15),
  Date.UTC(2038, 0, 19, 3, 14, 8),
];
const IDS = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];

const POSTS = 12;
describe('A connection', () => {
  const app = useApp();
  const reader = useAccount(app, { name: 'Ada' });
  let cursors: readonly string[];

  beforeAll(async () => {
    const positions = Array.from({ length: POSTS }, (_, index) => ({ createdAt: past(index) }));
    const ids = await seedPosts(
      app,
      positions.map(({ createdAt }, index) => ({
        authorId: reader.id,
        createdAt,
        title: `Post "${index}"\t`,
        tags: ['x', `t${index}`].slice(index % 3),
      })),
    );
    await seedComments(
      app,
      ids.flatMap((postId, index) =>
        Array.from({ length: index % 4 }, (_, turn) => ({
          postId,
          authorId: reader.id,
          createdAt: past(turn),
          body: `\t${turn}`,
        })),
      ),
    );
    cursors = ids.map((id, index) => encodeCursor({ id, createdAt: past(index) }));
  });

  const databaseResponses = async () =>
    (await readMetricBy(app.app, 'content_graph_graphql_execution_paths_total', 'path')).get(
      'database_response',
    ) ?? 0;

  it.each([
    [undefined, 'createdAt'],
    ['oldest-first', 'createdAt'],
    ['recently-updated', 'updatedAt'],
  ] as const)(
    'has the cursors of the order %s that the service makes, byte for byte',
    async (order, property) => {
      const json = statement<{ data: string }>(
        'cursors',
        `SELECT '[' || string_agg(${concatenation(objectFragments([['cursor', cursorJson('r', order)]]))}, ',' ORDER BY r.n) || ']' AS data
       FROM (SELECT (timestamptz 'epoch' + k.ms * interval '1 millisecond')::timestamptz(3) AS "${property}", k.id, k.n
         FROM unnest($1::bigint[], $2::uuid[]) WITH ORDINALITY AS k(ms, id, n)) AS r`,
      );
      const random = fc.sample(
        fc.record({
          createdAt: fc.date({ min: new Date(FIRST), max: new Date(LAST), noInvalidDate: true }),
          id: fc.uuid(),
        }),
        CURSORS,
      );
      const all = random.map(({ createdAt, id }, index) => ({
        createdAt: new Date(EDGES[index] ?? createdAt),
        id: IDS[index] ?? id,
      }));
      for (let done = 0; done < CURSORS; done += BATCH) {
        const positions = all.slice(done, done + BATCH);
        const [row] = await app.database.query(json, [
          positions.map(({ createdAt }) => createdAt.getTime()),
          positions.map(({ id }) => id),
        ]);
        const expected = JSON.stringify(
          positions.map((position) => ({
            cursor: encodeCursor({ ...position, updatedAt: position.createdAt }, order),
          })),
        );
        expect(withCursors(row?.data ?? '') === expected).toBe(true);
      }
    },
  );

  it.each([
    [
      'nothing of its rows',
      `query ($after: String) { postsConnection(after: $after) { __typename pageInfo { hasPreviousPage } } }`,
    ],
    [
      'type names everywhere',
      `{ __typename postsConnection(first: 2) { __typename edges { __typename cursor node { __typename id } } pageInfo { __typename endCursor } } again: __typename }`,
    ],
    [
      'connections in connections',
      `{ usersConnection(first: 2) { nodes { name postsConnection(first: 3) { edges { cursor node { title commentsConnection(first: 2) { edges { cursor node { body author { name } } } pageInfo { hasNextPage endCursor } } } } pageInfo { hasNextPage } } } } }`,
    ],
    [
      'the same with other arguments',
      `{ a: postsConnection(first: 2) { nodes { id } } b: postsConnection(first: 4, tag: "x") { nodes { title } pageInfo { hasNextPage } } viewer { c: postsConnection(first: 1) { nodes { id } } d: postsConnection(first: 2) { edges { cursor } } } }`,
    ],
    [
      'one name for two things in nodes and edges',
      `{ postsConnection(first: 3) { nodes { x: title y: author { id } } edges { node { x: body y: tags } } } }`,
    ],
    [
      'nodes and edges twice',
      `{ postsConnection(first: 3) { a: nodes { id } b: nodes { title } c: edges { cursor } d: edges { again: cursor node { a: id b: tags } other: node { title } } } }`,
    ],
    [
      'fragments and conditions',
      `query ($yes: Boolean = true, $no: Boolean = false) { ...Root } fragment Root on Query { postsConnection(first: 3) { ...Page edges @skip(if: $no) { node { ...Post } cursor @include(if: $yes) } } } fragment Page on PostConnection { pageInfo { ... on PageInfo { hasNextPage } ...Info @include(if: $no) } } fragment Info on PageInfo { endCursor } fragment Post on Post { title ... on Post { commentCount } }`,
    ],
    [
      'names as SQL has them',
      `{ r1: postsConnection(first: 2) { s: nodes { r2: id createdAt: title id: body } r1: edges { r3: cursor r4: node { __proto__: id constructor: title } } p: pageInfo { r1: endCursor s: hasNextPage } } }`,
    ],
    [
      'names that PostgreSQL would cut',
      `{ ${'long'.repeat(24)}: postsConnection(first: 2) { ${'long'.repeat(24)}a: nodes { ${'long'.repeat(24)}: id } ${'long'.repeat(24)}b: edges { ${'long'.repeat(24)}: cursor } } }`,
    ],
    ['the e-mail address of one’s own', '{ viewer { id name email posts(limit: 1) { id } } }'],
  ])('is written by the database, as an execution writes it: %s', async (_what, query) => {
    const variables = query.includes('$after') ? { after: cursors[6] } : {};
    const before = await databaseResponses();
    const options = { key: reader.key, variables };
    const whole = await app.gql(query, options);
    expect((await databaseResponses()) - before).toBe(1);
    expect(whole.errors).toBeUndefined();
    const { fetch } = secondInstance(app, { lookAhead: false });
    const executed = await readResponse(await fetch('/graphql', graphqlPost(query, options)));
    expect(JSON.stringify(whole.data)).toBe(JSON.stringify(executed.data));
  });
});
