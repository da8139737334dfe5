import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { gqlAs, PASSWORD, visitor } from '../support/credentials/session.ts';
import { besidePool } from '../support/database/postgres.ts';
import type { GraphQLResponse } from '../support/graphql.ts';
import { dataOf } from '../support/rejection.ts';

/** PostgreSQL finds deadlocks before anybody gives up waiting (the service does so after 300 ms, PostgreSQL looks after 1 s). */
process.env.PGOPTIONS = '-c deadlock_timeout=10ms';
// The next file may run in the same process.
afterAll(() => void delete process.env.PGOPTIONS);

/** What a mutation is written with: two posts of the caller's, the one with the greater id first, and a comment on each. */
interface Named {
  readonly high: string;
  readonly low: string;
  readonly onHigh: string;
  readonly onLow: string;
}

const comment = (alias: string, id: string) => `${alias}: createComment(postId: "${id}", body: "c") { id }`;
const update = (alias: string, id: string) =>
  `${alias}: updatePost(id: "${id}", title: "t", tags: ["x"]) { id }`;
const remove = (alias: string, id: string) => `${alias}: deletePost(id: "${id}")`;
const unsay = (alias: string, id: string) => `${alias}: deleteComment(id: "${id}")`;

/** Operations that meet the greater id first. */
const OPERATIONS: readonly [string, (named: Named) => string][] = [
  ['two comments', ({ high, low }) => `mutation { ${comment('a', high)} ${comment('b', low)} }`],
  ['two changes', ({ high, low }) => `mutation { ${update('a', high)} ${update('b', low)} }`],
  ['two deletions', ({ high, low }) => `mutation { ${remove('a', high)} ${remove('b', low)} }`],
  ['two comments deleted', ({ onHigh, onLow }) => `mutation { ${unsay('a', onHigh)} ${unsay('b', onLow)} }`],
  ['a comment and a change', ({ high, low }) => `mutation { ${comment('a', high)} ${update('b', low)} }`],
  ['a change and a deletion', ({ high, low }) => `mutation { ${update('a', high)} ${remove('b', low)} }`],
  ['a deletion and a comment', ({ high, low }) => `mutation { ${remove('a', high)} ${comment('b', low)} }`],
  [
    'a comment and a comment deleted',
    ({ high, onLow }) => `mutation { ${comment('a', high)} ${unsay('b', onLow)} }`,
  ],
  [
    'a comment deleted and a post deleted',
    ({ onHigh, low }) => `mutation { ${unsay('a', onHigh)} ${remove('b', low)} }`,
  ],
  [
    'fields in fragments',
    ({ high, low }) =>
      `mutation { ...A ... on Mutation { ${comment('b', low)} } } fragment A on Mutation { ${comment('a', high)} }`,
  ],
  [
    'ids in variables',
    ({ high, low }) =>
      `mutation ($high: ID! = "${high}", $low: ID! = "${low}") { a: createComment(postId: $high, body: "c") { id } b: createComment(postId: $low, body: "c") { id } }`,
  ],
  [
    'a new post in between',
    ({ high, low }) =>
      `mutation { ${comment('a', high)} createPost(title: "t", body: "b") { id } ${comment('b', low)} }`,
  ],
];

describe('Mutations that lock several posts', () => {
  const app = useApp();

  async function makeNamed({ key }: Account): Promise<Named> {
    const [low = '', high = ''] = [await createPost(app, key), await createPost(app, key)].sort();
    return {
      high,
      low,
      onHigh: await createComment(app, key, high),
      onLow: await createComment(app, key, low),
    };
  }

  /** How often PostgreSQL has ended somebody because of a deadlock in this database. */
  async function deadlocks(client: pg.Client): Promise<number> {
    const { rows } = await client.query(
      'SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()',
    );
    return rows[0].deadlocks;
  }

  async function countLockWaiters(client: pg.Client): Promise<number> {
    const { rows } = await client.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    return rows[0].n;
  }

  it.each(OPERATIONS)(
    'lock them in the order of their ids, whatever the document’s: %s',
    async (_what, write) => {
      const account = await app.account();
      const named = await makeNamed(account);
      const [holder, observer] = [await besidePool(app), await besidePool(app)];
      await holder.query('BEGIN');
      await holder.query('SELECT FROM posts WHERE id = $1 FOR UPDATE', [named.high]);
      const response = app.gql(write(named), { key: account.key });
      // It has the lower one while it waits for the greater one, though the document has them the other way round.
      await expect
        .poll(async () => {
          const { rows } = await observer.query(
            'SELECT FROM posts WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED',
            [named.low],
          );
          return rows.length;
        })
        .toBe(0);
      await holder.query('COMMIT');
      const { data, errors } = await response;
      expect(errors).toBeUndefined();
      expect(data).toMatchObject({ a: expect.anything(), b: expect.anything() });
    },
  );

  it('never deadlock, in whatever mixture and order they come', async () => {
    const people = [await visitor(app), await visitor(app)];
    const author = people[0];
    if (author === undefined) throw new Error('nobody is there');
    const posts: string[] = [];
    for (let index = 0; index < 4; index += 1) posts.push(await createPost(app, author.key));
    const comments: string[] = [];
    for (const id of posts)
      for (let index = 0; index < 6; index += 1) comments.push(await createComment(app, author.key, id));
    const doomed = await createPost(app, author.key);
    const observer = await besidePool(app);
    const makeKey = (alias: string) =>
      `${alias}: createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "${PASSWORD}") { apiKey { id } }`;
    const post = fc.constantFrom(...posts);
    const field = fc.oneof(
      { weight: 6, arbitrary: post.map((id) => (alias: string) => comment(alias, id)) },
      { weight: 3, arbitrary: post.map((id) => (alias: string) => update(alias, id)) },
      { weight: 3, arbitrary: fc.constantFrom(...comments).map((id) => (alias: string) => unsay(alias, id)) },
      { weight: 1, arbitrary: fc.constant((alias: string) => remove(alias, doomed)) },
      { weight: 1, arbitrary: fc.constant((alias: string) => `${alias}: revokeApiKey(id: "${doomed}")`) },
      { weight: 1, arbitrary: fc.constant(makeKey) },
    );
    const operation = fc
      .array(field, { minLength: 1, maxLength: 4 })
      // An operation can select createApiKey only once.
      .map((fields) => fields.filter((one, index) => one !== makeKey || fields.indexOf(makeKey) === index))
      .map((fields) => `mutation { ${fields.map((write, index) => write(`f${index}`)).join(' ')} }`);
    const operations = fc.sample(operation, 160);
    const responses: GraphQLResponse[] = [];
    let next = 0;
    const workers = Array.from({ length: 16 }, async (_, index) => {
      for (let query = operations[next++]; query !== undefined; query = operations[next++])
        responses.push(await gqlAs(app, people[index % 4 === 0 ? 1 : 0]?.cookie ?? '', query));
    });
    await Promise.all(workers);
    // The second person may not change the first one's posts; nobody meets anything else.
    const codes = new Set(
      responses.flatMap(({ errors = [] }) => errors.map(({ extensions }) => extensions.code)),
    );
    expect([...codes].filter((code) => !['FORBIDDEN', 'BAD_USER_INPUT'].includes(code))).toEqual([]);
    expect(responses).toHaveLength(operations.length);
    expect(await deadlocks(observer)).toBe(0);
  });

  it('use three connections for an account while they wait', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key);
    const [holder, observer] = [await besidePool(app), await besidePool(app)];
    await holder.query('BEGIN');
    await holder.query('SELECT FROM posts WHERE id = $1 FOR UPDATE', [id]);
    let done = 0;
    const written = Array.from({ length: 30 }, async () => {
      const response = await app.gql(`mutation { ${comment('a', id)} }`, { key });
      done += 1;
      return response;
    });
    // Three at first, then one at a time.
    await expect.poll(() => countLockWaiters(observer)).toBeGreaterThan(0);
    for (let turn = 0; turn < 20; turn += 1) {
      dataOf(await app.gql('{ posts { id } }', { key }));
      expect(await countLockWaiters(observer)).toBeLessThanOrEqual(3);
    }
    expect(done).toBe(0);
    await holder.query('COMMIT');
    for (const { errors } of await Promise.all(written)) expect(errors).toBeUndefined();
    expect(dataOf(await app.gql(`{ post(id: "${id}") { commentCount } }`, { key })).post.commentCount).toBe(
      30,
    );
  });

  it('give up their places while they wait, so that those who need other posts get through', async () => {
    const [busy, other] = [await app.account(), await app.account()];
    const id = await createPost(app, busy.key);
    const elsewhere = await createPost(app, other.key);
    const [holder, observer] = [await besidePool(app), await besidePool(app)];
    await holder.query('BEGIN');
    await holder.query('SELECT FROM posts WHERE id = $1 FOR UPDATE', [id]);
    let done = 0;
    const written = Array.from({ length: 10 }, async () => {
      const response = await app.gql(`mutation { ${comment('a', id)} }`, { key: busy.key });
      done += 1;
      return response;
    });
    await expect.poll(() => countLockWaiters(observer)).toBeGreaterThan(0);
    // Without a limit, the transactions that wait for the post would keep all slots.
    for (let turn = 0; turn < 5; turn += 1)
      dataOf(await app.gql(`mutation { ${update('a', elsewhere)} }`, { key: other.key }));
    expect(done).toBe(0);
    await holder.query('COMMIT');
    for (const { errors } of await Promise.all(written)) expect(errors).toBeUndefined();
  });

  it('change a post beside those who refer to it, and delete it after them', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key);
    const [holder] = [await besidePool(app)];
    await holder.query('BEGIN');
    // What a foreign key takes of a post that somebody comments on.
    await holder.query('SELECT FROM posts WHERE id = $1 FOR KEY SHARE', [id]);
    dataOf(await app.gql(`mutation { ${update('a', id)} }`, { key }));
    dataOf(await app.gql(`mutation { ${comment('a', id)} ${update('b', id)} }`, { key }));
    const deleted = app.gql(`mutation { ${remove('gone', id)} }`, { key });
    await holder.query('COMMIT');
    expect(dataOf(await deleted).gone).toBe(true);
  });
});
