import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../../../src/app/create-app.ts';
import type { ExecutionPath } from '../../../../src/engine/core/context.ts';
import { encodeCursor } from '../../../../src/engine/queries/pagination.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { createLogger } from '../../../../src/platform/log/log.ts';
import { buildSchema } from '../../../../src/schema/schema.ts';
import { type Account, ORIGIN, useApp } from '../../../support/app.ts';
import { createComment, past } from '../../../support/content.ts';
import { readMetricBy } from '../../../support/metrics.ts';
import {
  type KnownData,
  type RandomQuery,
  randomPosts,
  randomQueries,
} from '../../../support/schema/random-query.ts';
import { type ToldError, toldErrors } from '../../../support/schema/told-errors.ts';

/** How many random operations are compared; `npm run test:look-ahead` asks for more. */
const QUERIES = Number(process.env.LOOK_AHEAD_RUNS ?? 220);

/** Fields of an account's own, which a session alone may read: the database does not write them. */
const OWN_FIELDS = new Set(['User.apiKeys', 'User.externalIdentities', 'User.oauthGrants', 'User.sessions']);

/** Each way must be taken by so many of the operations, or the comparison shows little of it. */
const LEAST = QUERIES / 6;
/** Of a few hundred operations chance may make fewer than of thousands. */
const SHARE = QUERIES < 1_000 ? 0.6 : 1;

/** A comparison of mutations is as long as one of queries. */
const MUTATIONS = Math.ceil(QUERIES * 0.4);

/** A run of thousands takes longer than the limit of all tests. */
const TIME_LIMIT_MS = Math.max(600_000, QUERIES * 1_000);

interface Responded {
  readonly status: number;
  readonly text: string;
  readonly body: { readonly data?: unknown; readonly errors?: readonly ToldError[] };
}

/** The order of members is promised (GraphQL section 7.2.2), so what holds data is compared as text. */
function comparable({ status, text, body }: Responded): unknown {
  if (body.errors === undefined) return { status, text };
  if (body.data == null) return { status, error: body.errors[0]?.extensions };
  return { status, errors: toldErrors(body.data, body.errors), data: JSON.stringify(body.data) };
}

/** The response of a mutation that was asked for its cost, which is told last. */
const withoutCost = (responded: Responded): Responded => ({
  ...responded,
  text: responded.text.replace(/,"extensions":\{"cost":\{[^}]+\}\}\}$/, '}'),
});

/** The same of a new post, whose id and instant are its own. */
function comparablePost({ status, text, body }: Responded): unknown {
  if (body.errors !== undefined)
    return { status, data: body.data, errors: toldErrors(body.data, body.errors) };
  return {
    status,
    text: text
      .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, 'an id')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'an instant'),
  };
}

/** Counts the operations that took each way, as the service's own metric tells. */
class Paths {
  readonly taken = new Map<string, number>();
  #before = new Map<string, number>();
  readonly #service: App;

  constructor(service: App) {
    this.#service = service;
  }

  async begin(): Promise<void> {
    this.#before = await readMetricBy(this.#service, 'content_graph_graphql_execution_paths_total', 'path');
  }

  /** Notes, and returns, what one operation has gone through since the last note. */
  async note(): Promise<ReadonlySet<string>> {
    const now = await readMetricBy(this.#service, 'content_graph_graphql_execution_paths_total', 'path');
    const taken = new Set<string>();
    for (const [path, count] of now) if (count > (this.#before.get(path) ?? 0)) taken.add(path);
    for (const path of taken) this.taken.set(path, (this.taken.get(path) ?? 0) + 1);
    this.#before = now;
    return taken;
  }

  expectAtLeast(least: number, paths: readonly ExecutionPath[]): void {
    for (const path of paths) expect(this.taken.get(path) ?? 0, path).toBeGreaterThanOrEqual(least);
  }
}

const TEACH =
  'The database answers this otherwise than the resolvers do. If a computed field is selected, its SQL and its resolver have to give the same (docs/contributing/recipes/computed-field.md).';

describe('look-ahead', () => {
  const app = useApp();
  let loaders: App;
  let measured: App;
  let reader: Account;
  let data: KnownData;

  beforeAll(async () => {
    const log = createLogger({ level: 'silent', pretty: false });
    loaders = createApp({ config: app.config, database: app.database, log, lookAhead: false });
    // So little that nearly all that these queries may answer has to be measured, and so much that it fits.
    const config = { ...app.config, maxResponseBytes: 50_000 };
    measured = createApp({ config, database: app.database, log });
    const writers = [
      await app.account({ name: 'Ada' }),
      await app.account({ name: 'Linus "the\\kernel"\u2028 🐧' }),
    ];
    const profile = { handle: 'ada', bio: '"\u2028', avatarUrl: 'https://example.com/"' };
    await app.prisma.user.update({ where: { id: writers[0]?.id ?? '' }, data: profile });
    const drafts = Array.from({ length: 6 }, (_, at) => ({
      id: newId(),
      authorId: writers[at % 2]?.id ?? '',
      ...{ title: '"\u2028', body: '🐧\n', tags: ['y "z"'], slug: at > 3 ? 'slug' : null },
      // The order of changes differs from the order of creation.
      ...{ createdAt: past(at), updatedAt: past(at % 4) },
    }));
    await app.prisma.draft.createMany({ data: drafts });
    const posts: { id: string; createdAt: string }[] = [];
    const commentIds: string[] = [];
    for (let i = 0; i < 8; i += 1) {
      const author = writers[i % 2];
      const created = await app.gql(
        'mutation ($tags: [String!]) { createPost(title: "Über \\"quotes\\"\\n", body: "🐧 and more", tags: $tags) { id createdAt } }',
        { key: author?.key, variables: { tags: i % 3 === 0 ? [] : ['x', 'y "z"'].slice(0, 1 + (i % 2)) } },
      );
      posts.push(created.data.createPost);
      for (let j = 0; j < i % 4; j += 1)
        commentIds.push(await createComment(app, writers[j % 2]?.key ?? '', posts[i]?.id ?? '', 'c'));
    }
    [reader] = writers as [Account];
    data = {
      userIds: writers.map(({ id }) => id),
      postIds: posts.slice(0, 3).map(({ id }) => id),
      commentIds: commentIds.slice(0, 3),
      draftIds: drafts.map(({ id }) => id),
      cursors: posts
        .slice(2, 5)
        .map(({ id, createdAt }) => encodeCursor({ id, createdAt: new Date(createdAt) })),
      tags: ['x', 'y "z"', 'none'],
      handles: ['ada', 'ADA', 'nobody'],
      instants: [posts[3]?.createdAt ?? '', '2001-01-01T00:00:00+02:00'],
    };
    return async () => {
      await loaders.close();
      await measured.close();
    };
  });

  async function result(
    service: App,
    query: RandomQuery,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Responded> {
    const response = await service.fetch(
      new Request(`${ORIGIN}/graphql`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${reader.key}`,
          ...headers,
        },
        body: JSON.stringify(query),
      }),
    );
    const text = await response.text();
    return { status: response.status, text, body: JSON.parse(text) as Responded['body'] };
  }

  /** As a page sends it. */
  const FROM_PAGE = { origin: ORIGIN };
  const ASKING_THE_COST = { 'x-show-cost': '1' };

  it(
    'answers every query as the loaders do, to the byte, errors included',
    async () => {
      let data200 = 0;
      let runs = 0;
      /** Operations with connections that the database has answered by itself. */
      let wholeConnections = 0;
      const paths = new Paths(app.app);
      const slow = new Paths(loaders);
      const sized = new Paths(measured);
      await Promise.all([paths.begin(), slow.begin(), sized.begin()]);
      const queries = randomQueries(buildSchema(), data, OWN_FIELDS);
      await fc.assert(
        fc.asyncProperty(queries, async (query) => {
          const ahead = await result(app.app, query);
          const loaded = await result(loaders, query, FROM_PAGE);
          expect(comparable(ahead), `${query.query}\n${TEACH}`).toEqual(comparable(loaded));
          const bounded = await result(measured, query);
          if (JSON.stringify(loaded.body).length < 20_000)
            expect(comparable(bounded), query.query).toEqual(comparable(loaded));
          else expect([200, 400]).toContain(bounded.status);
          if (ahead.status === 200 && ahead.body.data != null) data200 += 1;
          const [taken] = await Promise.all([paths.note(), sized.note()]);
          if (taken.has('database_response') && query.query.includes('Connection')) wholeConnections += 1;
          runs += 1;
          if (runs % 3 === 0) {
            const costly = await result(app.app, query, ASKING_THE_COST);
            expect(comparable(costly), query.query).toEqual(
              comparable(await result(loaders, query, { ...FROM_PAGE, ...ASKING_THE_COST })),
            );
            await paths.note();
          }
          await slow.note();
        }),
        { numRuns: QUERIES },
      );
      // The comparison means something only where most of the queries return data.
      expect(data200).toBeGreaterThan(QUERIES / 3);
      paths.expectAtLeast(LEAST, ['fast_path', 'loaders']);
      sized.expectAtLeast(LEAST, ['fast_path', 'database_response']);
      paths.expectAtLeast(SHARE * (QUERIES / 2), ['database_response']);
      expect(wholeConnections).toBeGreaterThanOrEqual(SHARE * (QUERIES / 3));
      slow.expectAtLeast(LEAST, ['loaders']);
      expect(new Set(slow.taken.keys())).toEqual(new Set(['fast_path', 'loaders']));
    },
    TIME_LIMIT_MS,
  );

  it(
    'answers a mutation of one statement as an execution does, to the byte',
    async () => {
      const paths = new Paths(app.app);
      const slow = new Paths(loaders);
      await Promise.all([paths.begin(), slow.begin()]);
      await fc.assert(
        fc.asyncProperty(randomPosts(data), async (query) => {
          const alone = await result(app.app, query);
          // A statement by itself does not tell its cost.
          const executed = await result(loaders, query, { ...FROM_PAGE, ...ASKING_THE_COST });
          expect(comparablePost(alone), query.query).toEqual(comparablePost(withoutCost(executed)));
          await Promise.all([paths.note(), slow.note()]);
        }),
        { numRuns: MUTATIONS },
      );
      paths.expectAtLeast(LEAST, ['fast_path', 'single_statement']);
      expect([...slow.taken.keys()]).toEqual(['fast_path']);
    },
    TIME_LIMIT_MS,
  );

  it('reads for each operation what it asks for, though they share a fragment', async () => {
    for (const [field, own] of [
      ['postsConnection(first: 1) { nodes', 'title'],
      ['postsConnection(first: 1) { nodes', 'author { name }'],
      ['posts(limit: 1) { ... on Post', 'body'],
    ]) {
      const list = (selection?: string) => `p: ${field} { ${selection} } }`;
      const query = `query A { ...F __typename } query B { ...F ${list(own)} __typename } fragment F on Query { ${list('id')} }`;
      for (const operationName of ['A', 'B', 'A']) {
        const asked = { query, variables: {}, operationName };
        const ahead = await result(app.app, asked);
        expect(ahead.body.errors).toBeUndefined();
        expect(ahead.text).toBe((await result(loaders, asked)).text);
      }
    }
  });
});
