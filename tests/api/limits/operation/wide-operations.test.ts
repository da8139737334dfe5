import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeCursor } from '../../../../src/graphql/pagination/cursor.ts';
import { buildSchema } from '../../../../src/schema.ts';
import { type Account, useApp } from '../../../support/app.ts';
import { past, seedComments, seedPosts } from '../../../support/content.ts';
import { useCountedDatabase } from '../../../support/database/statement-count.ts';
import { dataOf } from '../../../support/refusal.ts';
import { type KnownData, type RandomQuery, randomQueries } from '../../../support/schema/random-query.ts';
import { repeated } from '../../../support/schema/repeated.ts';
import { toldErrors } from '../../../support/schema/told-errors.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

/** How many random operations are compared. */
const RUNS = Number(process.env.WIDE_RUNS ?? 60);
const POSTS = 60;
const COMMENTS = 4;
/** Fields of an account's own, which a session alone may read. */
const OWN_FIELDS = new Set(['User.apiKeys', 'User.oauthGrants', 'User.sessions']);

/** Beside any query, makes it one of more than a hundred lists and rows, which are empty. */
const PADDING = 'padding: posts(limit: 0) { ...Padding }';
const PADDING_FRAGMENTS = `fragment Padding on Post { ${repeated(10, (i) => `p${i}: author { ...Below }`)} }
  fragment Below on User { ${repeated(6, (i) => `q${i}: posts(limit: 0) { author { id } }`)} }`;

const widened = ({ query, variables }: RandomQuery): RandomQuery => ({
  query: `${query.replace('{', `{ ${PADDING} `)} ${PADDING_FRAGMENTS}`,
  variables,
});

/** Lists in lists in lists by fragments in fragments, no two of one parent with the same size. */
const wide = (limit: number, root = `posts(limit: ${limit})`) => `${root} { ...A } `;
const FRAGMENTS = `fragment A on Post { title author { ${repeated(5, (i) => `a${i}: posts(limit: ${i + 1}) { ...B }`)} } }
  fragment B on Post { ${repeated(5, (i) => `b${i}: comments(limit: ${i + 1}) { ...C }`)} }
  fragment C on Comment { author { ${repeated(3, (i) => `c${i}: postsConnection(first: ${i + 1}) { nodes { ...D } pageInfo { endCursor } }`)} } }
  fragment D on Post { tags commentCount body author { name } }`;
/** That many statements are a few for each of its levels; its lists and rows are several hundred. */
const MOST_STATEMENTS = 20;

describe('An operation that is wide rather than long', () => {
  // Held still, the clock keeps the credential cached: what is counted is the request's own work.
  const now = Date.now();
  const counted = useCountedDatabase();
  // What is added must not be what refuses an operation.
  const size = { MAX_ALIASES: '1000', MAX_TOKENS: '100000' };
  const limits = { ...size, MAX_COMPLEXITY: '1000000', MAX_FIELD_PAIRS: '10000' };
  // The database's own settings are in the object once it is open.
  const app = useApp({ settings: Object.assign(counted.settings, limits), clock: clockOf(() => now) });
  let reader: Account;
  let data: KnownData;

  beforeAll(async () => {
    reader = await app.account({ name: 'Ada' });
    const writers = [reader, await app.account({ name: 'Linus' }), await app.account({ name: 'Grace' })];
    const writer = (index: number) => writers[index % writers.length]?.id ?? '';
    const postIds = await seedPosts(
      app,
      Array.from({ length: POSTS }, (_, index) => ({
        authorId: writer(index),
        createdAt: past(index),
        title: `Post ${index}`,
        body: `Body ${index}`,
        tags: ['x', `t${index}`].slice(index % 3),
      })),
    );
    const commentIds = await seedComments(
      app,
      postIds.flatMap((postId, index) =>
        Array.from({ length: COMMENTS }, (_, turn) => ({
          postId,
          authorId: writer(index + turn),
          createdAt: past(1_000 * turn),
          body: `Comment ${turn} on ${index}`,
        })),
      ),
    );
    data = {
      userIds: writers.map(({ id }) => id),
      postIds: postIds.slice(-3),
      commentIds: commentIds.slice(-3),
      cursors: [40, 50, 55].map((index) =>
        encodeCursor({ id: postIds[index] ?? '', createdAt: past(index) }),
      ),
      tags: ['x', 't6', 'none'],
      instants: [past(30).toISOString(), '2001-01-01T00:00:00+02:00'],
    };
  });

  /** Its own statements: those of clean-up, once a minute, may run beside it, but not each time. */
  async function completedBy(work: () => Promise<unknown>): Promise<number> {
    const counts: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const before = counted.completed.length;
      await work();
      counts.push(counted.completed.length - before);
    }
    const statements = Math.min(...counts);
    expect(statements).toBeGreaterThan(0);
    return statements;
  }

  it('has the answer that it has without its width, errors included', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(randomQueries(buildSchema(), data, OWN_FIELDS), async (random) => {
        const ask = async ({ query, variables }: RandomQuery) => {
          const { status, data: all, errors = [] } = await app.gql(query, { key: reader.key, variables });
          if (all != null) {
            answered += 1;
            delete all.padding;
          }
          // The two texts have their fields in different places, and a refused one is refused with its numbers.
          const seen = errors.map(({ message, path, extensions }) =>
            path === undefined ? { extensions: extensions.code } : { message, path, extensions },
          );
          return { status, text: JSON.stringify(all), errors: toldErrors(all, seen) };
        };
        expect(await ask(widened(random)), random.query).toEqual(await ask(random));
      }),
      { numRuns: RUNS },
    );
    expect(answered).toBeGreaterThan(RUNS / 2);
  });

  it('is read with a few statements for each of its levels, no more for twenty posts than for one', async () => {
    const ask = async (limit: number) =>
      dataOf(await app.gql(`{ ${wide(limit)} } ${FRAGMENTS}`, { key: reader.key }));
    const [post] = (await ask(1)).posts;
    expect(post.author.a4).toHaveLength(5);
    expect(post.author.a4[4].b3).toHaveLength(COMMENTS);
    const { nodes, pageInfo } = post.author.a4[4].b3[1].author.c2;
    expect(nodes).toHaveLength(3);
    expect(nodes[0].body).toMatch(/^Body \d+$/);
    expect(pageInfo.endCursor).not.toBeNull();
    const statements = await completedBy(() => ask(1));
    expect(statements).toBeLessThanOrEqual(MOST_STATEMENTS);
    // Whom the loaders know already they need not ask for.
    expect(await completedBy(() => ask(20))).toBeLessThanOrEqual(statements);
  });

  it('is read so in the payload of a mutation', async () => {
    const mutation = (root: string) => `mutation { ${wide(1, root)} } ${FRAGMENTS}`;
    const create = 'createPost(title: "t", body: "b")';
    const statements = await completedBy(async () =>
      dataOf(await app.gql(mutation(create), { key: reader.key })),
    );
    expect(statements).toBeLessThanOrEqual(MOST_STATEMENTS);
  });
});
