import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/app/create-app.ts';
import { createLogger } from '../../../../src/platform/log/log.ts';
import { defineTypes, schemaOf } from '../../../../src/schema/schema.ts';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { linesOf } from '../../../support/log-lines.ts';

const { toolkit, post } = defineTypes();
toolkit.builder.objectFields(post.Post, (t) => ({
  careless: t.string({
    columns: ['title'],
    maxCharacters: 100,
    description: 'Its resolver reads another column than it declares.',
    resolve: ({ body }) => body,
  }),
}));
/** The naive version: right, but each query that selects it is left to the loaders. */
toolkit.builder.objectFields(post.Post, (t) => ({
  shout: t.string({
    columns: ['title'],
    maxCharacters: 400,
    description: 'The title in capitals.',
    resolve: ({ title }) => title.toUpperCase(),
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
describe('A computed field that was added with one declaration of its SQL', () => {
  const app = useApp({ schema });
  let key = '';
  let id = '';
  beforeAll(async () => {
    key = (await app.account()).key;
    id = await createPost(app, key, { title: 't' });
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

  it('keeps from its resolver what it does not declare', async () => {
    const query = 'query ($id: ID!) { post(id: $id) { body careless } }';
    const { errors } = await app.gql(query, { key, variables: { id } });
    expect(errors).toMatchObject([{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }]);
    expect(app.logged.join('')).toContain(
      'the resolver of Post.careless reads \\"body\\", which its \\"columns\\" do not declare',
    );
  });
});
