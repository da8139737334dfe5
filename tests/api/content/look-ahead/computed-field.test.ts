import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../../src/app.ts';
import { createLogger } from '../../../../src/platform/log.ts';
import { defineTypes, schemaOf } from '../../../../src/schema.ts';
import { ORIGIN, useApp } from '../../../support/app.ts';
import { blocksOf } from '../../../support/docs/markdown.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { linesOf } from '../../../support/log-lines.ts';
import { leftToResolvers } from '../../../support/schema/left-to-resolvers.ts';
import { definePreview } from '../../../support/schema/preview.ts';

const { kernel, post } = defineTypes();
definePreview(kernel, post);
/** The number of parameters depends on the argument. */
kernel.builder.objectFields(post.Post, (t) => ({
  beginnings: t.string({
    args: { lengths: t.arg.intList({ required: true, defaultValue: [1] }) },
    columns: ['body'],
    maxCharacters: 400,
    edge: {
      kind: 'values',
      parameters: ({ lengths }) => (Array.isArray(lengths) ? lengths.map(Number) : []),
      sql: (row, ...lengths) =>
        `to_json(concat_ws('|', ${lengths.map((length) => `left(${row}."body", ${length})`).join(', ')}))::text`,
    },
    description: 'Several beginnings of the body.',
    resolve: ({ body }, { lengths }) =>
      lengths.map((length) => [...body].slice(0, length).join('')).join('|'),
  }),
}));
const schema = schemaOf(kernel.builder);
const BODY = 'Über "quotes"\\\n🐧 and more of it';
const ROOT = join(import.meta.dirname, '../../../..');

const previewOf = (length: number) => [...BODY].slice(0, length).join('');

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
      'mutation ($body: String!) { createPost(title: "t", body: $body) { id preview(length: 7) } }',
      { key, variables: { body: BODY } },
    );
    ({ id } = created.data.createPost);
    expect(created.data.createPost.preview).toBe(previewOf(7));
  });

  /** The answers of the service as it ships, of one that measures everything, and of one whose loaders read everything. */
  async function ask(query: string, variables: Record<string, unknown> = {}) {
    const { config, database } = app;
    const log = createLogger({ level: 'error', pretty: false });
    const measuring = createApp({ config: { ...config, maxResponseBytes: 9_000 }, database, log, schema });
    const loading = createApp({ config, database, log, schema, lookAhead: false });
    const init = graphqlPost(query, { key, variables: { id, ...variables } });
    try {
      const shipped = await app.fetch('/graphql', init);
      const others = [measuring, loading].map((other) => other.fetch(new Request(`${ORIGIN}/graphql`, init)));
      const answers = await Promise.all([shipped, ...(await Promise.all(others))].map((one) => one.json()));
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[2]).toEqual(answers[0]);
      const line = linesOf(app.logged, 'answer path').find(
        ({ requestId }) => requestId === shipped.headers.get('x-request-id'),
      );
      return { answer: answers[0], paths: line?.paths, declined: line?.declined };
    } finally {
      await measuring.close();
      await loading.close();
    }
  }

  it('has a statement for each number of its parameters', async () => {
    const query = 'query ($id: ID!, $lengths: [Int!]!) { post(id: $id) { beginnings(lengths: $lengths) } }';
    // A text is kept from its second use on.
    for (const lengths of [[3], [3], [3], [3, 5], [4, 2]]) {
      const { answer, paths } = await ask(query, { lengths });
      expect(answer.data.post.beginnings).toBe(lengths.map(previewOf).join('|'));
      expect(paths).toContain('whole_answer');
    }
  });

  it.each([
    ['by its default', 'preview', { preview: previewOf(100) }],
    ['by a number', 'preview(length: 14)', { preview: previewOf(14) }],
    [
      'by a variable, under two names, beside a list',
      'a: preview(length: $n) comments(limit: 1, offset: 1) { id } b: preview(length: 2)',
      { a: previewOf(6), comments: [], b: previewOf(2) },
    ],
  ])('is answered whole %s', async (_what, selection, post) => {
    const query = `query ($id: ID!, $n: Int = 6) { post(id: $id) { ${selection} } user(id: $id) { id } postsConnection(first: 5) { nodes { preview(length: $n) } } }`;
    const { answer, paths } = await ask(query);
    expect(answer).toEqual({
      data: { post, user: null, postsConnection: { nodes: [{ preview: previewOf(6) }] } },
    });
    expect(paths).toEqual(['fast_path', 'whole_answer']);
  });

  it('refuses an argument as its resolver does', async () => {
    const { answer, paths, declined } = await ask(
      'query ($id: ID!) { post(id: $id) { id preview(length: 0) } }',
    );
    expect(answer.errors).toMatchObject([{ path: ['post', 'preview'], extensions: { argument: 'length' } }]);
    expect(paths).toEqual(['fast_path', 'look_ahead']);
    expect(declined).toBe('the arguments of preview are invalid or name no row');
  });

  it('is read beside a field that needs a resolver, and in rounds', async () => {
    const ahead = await ask('query ($id: ID!) { post(id: $id) { preview(length: 3) shout } }');
    expect(ahead.answer).toEqual({ data: { post: { preview: previewOf(3), shout: 'T' } } });
    expect(ahead.paths).toEqual(['fast_path', 'look_ahead']);
    const rounds = await ask(`{ users(limit: 5) { posts(limit: 5) { preview(length: 3) ${WIDE} } } }`);
    expect(rounds.answer.data.users[0].posts[0].preview).toBe(previewOf(3));
    expect(rounds.paths).toEqual(['fast_path', 'loaders']);
    expect(rounds.declined).toBe('the operation is too wide for one statement');
  });

  it('is found to be left to the resolvers if it declares no SQL', async () => {
    expect(await leftToResolvers(app, key, schema)).toMatchObject({
      'Post.shout': 'Post.shout has no column and no edge',
    });
  });

  it('is declared as docs/computed-fields.md shows', () => {
    const words = (text: string) => text.replaceAll(/\s+/g, ' ').trim();
    const source = words(readFileSync(join(ROOT, 'tests/support/schema/preview.ts'), 'utf8'));
    const shown = blocksOf(readFileSync(join(ROOT, 'docs/computed-fields.md'), 'utf8')).filter(
      ({ language }) => language === 'ts',
    );
    expect(shown.length).toBeGreaterThan(0);
    for (const { text } of shown) expect(source).toContain(words(text));
  });
});
