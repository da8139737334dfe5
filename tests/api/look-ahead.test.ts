import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../src/app.ts';
import { encodeCursor } from '../../src/graphql/pagination/cursor.ts';
import { createLogger } from '../../src/platform/log.ts';
import { buildSchema } from '../../src/schema.ts';
import { type Account, ORIGIN, useApp } from '../support/app.ts';
import { type KnownData, randomQueries } from '../support/random-query.ts';

/** How many random operations are compared; `npm run test:look-ahead` asks for more. */
const RUNS = Number(process.env.LOOK_AHEAD_RUNS ?? 300);

/** Fields of an account's own, which a session alone may read: they are no part of the graph that is read ahead. */
const OWN_FIELDS = new Set(['User.apiKeys', 'User.oauthGrants', 'User.sessions']);

interface Answered {
  readonly status: number;
  readonly body: { readonly data?: unknown; readonly errors?: readonly { readonly extensions: unknown }[] };
}

/** Where the whole answer failed it is one of several rows that the error is told of: which one is nobody's promise. */
function comparable({ status, body }: Answered): unknown {
  return body.data == null ? { status, error: body.errors?.[0]?.extensions } : { status, body };
}

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
    const posts: { id: string; createdAt: string }[] = [];
    for (let i = 0; i < 8; i += 1) {
      const author = writers[i % 2];
      const created = await app.gql(
        'mutation ($tags: [String!]) { createPost(title: "Über \\"quotes\\"\\n", body: "b", tags: $tags) { id createdAt } }',
        { key: author?.key, variables: { tags: i % 3 === 0 ? [] : ['x', 'y "z"'].slice(0, 1 + (i % 2)) } },
      );
      posts.push(created.data.createPost);
      for (let j = 0; j < i % 4; j += 1)
        await app.gql('mutation ($post: ID!) { createComment(postId: $post, body: "c") { id } }', {
          key: writers[j % 2]?.key,
          variables: { post: posts[i]?.id },
        });
    }
    [reader] = writers as [Account];
    data = {
      userIds: writers.map(({ id }) => id),
      postIds: posts.slice(0, 3).map(({ id }) => id),
      cursors: posts
        .slice(2, 5)
        .map(({ id, createdAt }) => encodeCursor({ id, createdAt: new Date(createdAt) })),
      tags: ['x', 'y "z"', 'none'],
      instants: [posts[3]?.createdAt ?? '', '2001-01-01T00:00:00+02:00'],
    };
    return async () => {
      await loaders.close();
      await measured.close();
    };
  });

  async function answer(service: App, body: string, key: string): Promise<Answered> {
    const response = await service.fetch(
      new Request(`${ORIGIN}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body,
      }),
    );
    return { status: response.status, body: (await response.json()) as Answered['body'] };
  }

  it(
    'answers every query as the loaders do, errors included',
    async () => {
      let data200 = 0;
      const queries = randomQueries(buildSchema(), data, OWN_FIELDS);
      await fc.assert(
        fc.asyncProperty(queries, async (query) => {
          const body = JSON.stringify(query);
          const ahead = await answer(app.app, body, reader.key);
          const loaded = await answer(loaders, body, reader.key);
          expect(comparable(ahead), query.query).toEqual(comparable(loaded));
          const bounded = await answer(measured, body, reader.key);
          if (JSON.stringify(loaded.body).length < 20_000)
            expect(comparable(bounded), query.query).toEqual(comparable(loaded));
          else expect([200, 400]).toContain(bounded.status);
          if (ahead.status === 200 && ahead.body.data != null) data200 += 1;
        }),
        { numRuns: RUNS },
      );
      // The comparison means something only where most of the queries return data.
      expect(data200).toBeGreaterThan(RUNS / 3);
    },
    RUNS * 1_000,
  );
});
