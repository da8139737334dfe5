import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/app/create-app.ts';
import { createLogger } from '../../../../src/platform/log/log.ts';
import { defineTypes, schemaOf } from '../../../../src/schema/schema.ts';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { linesOf } from '../../../support/log-lines.ts';
import { leftToResolvers } from '../../../support/schema/left-to-resolvers.ts';
import { defineOpening } from '../../../support/schema/opening.ts';

const { toolkit, post } = defineTypes();
defineOpening(toolkit, post);
toolkit.builder.objectFields(post.Post, (t) => ({
  careless: t.string({
    columns: ['title'],
    maxCharacters: 100,
    description: 'Its resolver reads another column than it declares.',
    resolve: ({ body }) => body,
  }),
  /** The argument is a list. */
  beginnings: t.string({
    args: { lengths: t.arg.intList({ required: true, defaultValue: [1] }) },
    columns: ['body'],
    maxCharacters: 400,
    sql: {
      kind: 'value',
      parameters: ({ lengths }) => ({ lengths }),
      expression: ({ body }, { lengths }) =>
        `SELECT string_agg(left(${body}, l.length), '|' ORDER BY l.n) FROM unnest(${lengths}::int[]) WITH ORDINALITY AS l(length, n)`,
    },
    description: 'Several beginnings of the body.',
    resolve: ({ body }, { lengths }) =>
      lengths.map((length) => [...body].slice(0, length).join('')).join('|'),
  }),
}));
/** Values of each kind that the database writes in its own way, and null. */
toolkit.builder.objectFields(post.Post, (t) => ({
  /** The database cannot tell the type of a text by itself. */
  word: t.string({
    args: { word: t.arg.string({ required: true, defaultValue: '"w' }) },
    maxCharacters: 100,
    sql: {
      kind: 'value',
      parameters: ({ word }) => ({ word }),
      expression: ({ id }, { word }) => `CASE WHEN ${id} IS NOT NULL THEN ${word} END`,
    },
    description: 'The argument.',
    resolve: (_post, { word }) => word,
  }),
  handle: t.id({
    columns: ['title'],
    sql: { kind: 'value', expression: ({ title }) => `${title} || '"\\'` },
    description: 'An id that is no UUID.',
    resolve: ({ title }) => `${title}"\\`,
  }),
  weight: t.float({
    columns: ['commentCount'],
    sql: { kind: 'value', expression: ({ commentCount }) => `${commentCount} + 0.5::float8` },
    description: 'A number.',
    resolve: ({ commentCount }) => commentCount + 0.5,
  }),
  dayBefore: t.field({
    type: 'DateTime',
    columns: ['createdAt'],
    sql: { kind: 'value', expression: ({ createdAt }) => `${createdAt} - interval '24 hours'` },
    description: 'An instant.',
    resolve: ({ createdAt }) => new Date(createdAt.getTime() - 86_400_000),
  }),
  closedAt: t.field({
    type: 'DateTime',
    nullable: true,
    columns: ['createdAt'],
    sql: { kind: 'value', expression: ({ createdAt }) => `nullif(${createdAt}, ${createdAt})` },
    description: 'Null.',
    resolve: () => null,
  }),
  subtitle: t.string({
    nullable: true,
    columns: ['title'],
    maxCharacters: 200,
    sql: { kind: 'value', expression: ({ title }) => `nullif(${title}, 't')` },
    description: 'The title, or null.',
    resolve: ({ title }) => (title === 't' ? null : title),
  }),
}));
const schema = schemaOf(toolkit.builder);
const BODY = 'Über "quotes"\\\n🐧 and more of it';

const openingOf = (length: number) => [...BODY].slice(0, length).join('');

/** More fields with a selection than one statement may have. */
const WIDE = Array.from({ length: 101 }, (_, index) => `w${index}: author { id }`).join(' ');
const LIMITS = { MAX_ALIASES: '1000', MAX_TOKENS: '100000', MAX_COMPLEXITY: '1000000' };

describe('A computed field with an argument that was added with one declaration of its SQL', () => {
  const app = useApp({ schema, settings: LIMITS });
  let key = '';
  let id = '';
  beforeAll(async () => {
    key = (await app.account()).key;
    const created = await app.gql(
      'mutation ($body: String!) { createPost(title: "t", body: $body) { id opening(length: 7) } }',
      { key, variables: { body: BODY } },
    );
    ({ id } = created.data.createPost);
    expect(created.data.createPost.opening).toBe(openingOf(7));
  });

  /** The responses of the service as it ships, of one that measures everything, and of one whose loaders read everything. */
  async function ask(query: string, variables: Record<string, unknown> = {}) {
    const { config, database } = app;
    const log = createLogger({ level: 'error', pretty: false });
    const measuring = createApp({ config: { ...config, maxResponseBytes: 9_000 }, database, log, schema });
    const loading = createApp({ config, database, log, schema, lookAhead: false });
    const init = graphqlPost(query, { key, variables: { id, ...variables } });
    try {
      const shipped = await app.fetch('/graphql', init);
      const others = [measuring, loading].map((other) => other.fetch(new Request(`${ORIGIN}/graphql`, init)));
      const responses = await Promise.all([shipped, ...(await Promise.all(others))].map((one) => one.json()));
      expect(responses[1]).toEqual(responses[0]);
      expect(responses[2]).toEqual(responses[0]);
      const line = linesOf(app.logged, 'graphql.execution_path').find(
        ({ requestId }) => requestId === shipped.headers.get('x-request-id'),
      );
      return { response: responses[0], paths: line?.executionPaths, fallbackReason: line?.fallbackReason };
    } finally {
      await measuring.close();
      await loading.close();
    }
  }

  it('takes a list for its argument', async () => {
    const query = 'query ($id: ID!, $lengths: [Int!]!) { post(id: $id) { beginnings(lengths: $lengths) } }';
    // A text is kept from its second use on.
    for (const lengths of [[3], [3], [3], [3, 5], [4, 2]]) {
      const { response, paths } = await ask(query, { lengths });
      expect(response.data.post.beginnings).toBe(lengths.map(openingOf).join('|'));
      expect(paths).toContain('database_response');
    }
  });

  it.each([
    ['without an argument', 'opening', { opening: openingOf(100) }],
    ['by null', 'opening(length: null)', { opening: openingOf(100) }],
    ['by a number', 'opening(length: 14)', { opening: openingOf(14) }],
    [
      'by a variable, under two names, beside a list',
      'a: opening(length: $n) comments(limit: 1, offset: 1) { id } b: opening(length: 2)',
      { a: openingOf(6), comments: [], b: openingOf(2) },
    ],
  ])('is answered whole %s', async (_what, selection, post) => {
    const query = `query ($id: ID!, $n: Int = 6) { post(id: $id) { ${selection} } user(id: $id) { id } postsConnection(first: 5) { nodes { opening(length: $n) } } }`;
    const { response, paths } = await ask(query);
    expect(response).toEqual({
      data: { post, user: null, postsConnection: { nodes: [{ opening: openingOf(6) }] } },
    });
    expect(paths).toEqual(['fast_path', 'database_response']);
  });

  it.each(['', ' shout'])('is of any kind, and may be null, beside "%s"', async (other) => {
    const query = `query ($id: ID!) { post(id: $id) { createdAt word handle weight dayBefore closedAt subtitle${other} } }`;
    const { response, paths } = await ask(query);
    const { createdAt, ...post } = response.data.post;
    expect(post).toMatchObject({
      word: '"w',
      handle: 't"\\',
      weight: 0.5,
      dayBefore: new Date(Date.parse(createdAt) - 86_400_000).toISOString(),
      closedAt: null,
      subtitle: null,
    });
    expect(paths).toEqual(['fast_path', other === '' ? 'database_response' : 'loaders']);
  });

  it('rejects an argument as its resolver does', async () => {
    const { response, paths, fallbackReason } = await ask(
      'query ($id: ID!) { post(id: $id) { id opening(length: 0) } }',
    );
    expect(response.errors).toMatchObject([
      { path: ['post', 'opening'], extensions: { argument: 'length' } },
    ]);
    expect(paths).toEqual(['fast_path', 'loaders']);
    expect(fallbackReason).toBe('the arguments of opening are invalid or name no row');
  });

  it('is read beside a field that needs a resolver, and in loader batches', async () => {
    const beside = await ask('query ($id: ID!) { post(id: $id) { opening(length: 3) shout } }');
    expect(beside.response).toEqual({ data: { post: { opening: openingOf(3), shout: 'T' } } });
    expect(beside.paths).toEqual(['fast_path', 'loaders']);
    const batched = await ask(`{ users(limit: 5) { posts(limit: 5) { opening(length: 3) ${WIDE} } } }`);
    expect(batched.response.data.users[0].posts[0].opening).toBe(openingOf(3));
    expect(batched.paths).toEqual(['fast_path', 'loaders']);
    expect(batched.fallbackReason).toBe('the operation has too many nested fields for one statement');
  });

  it('keeps from its resolver what it does not declare', async () => {
    const query = 'query ($id: ID!) { post(id: $id) { body careless } }';
    const { errors } = await app.gql(query, { key, variables: { id } });
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    expect(app.logged.join('')).toContain(
      'the resolver of Post.careless reads \\"body\\", which its \\"columns\\" do not declare',
    );
  });

  it('is found to be left to the resolvers if it declares no SQL', async () => {
    expect(await leftToResolvers(app, key, schema)).toMatchObject({
      'Post.shout': 'Post.shout has no column and no "sql"',
    });
  });
});
