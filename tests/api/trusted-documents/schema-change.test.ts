import { type GraphQLSchema, isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildSchema } from '../../../src/schema/schema.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readResponse } from '../../support/graphql.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { openNamed, requestNamed, STREAM_WAYS } from '../../support/streams/named-stream.ts';
import { askMembers, publish, published } from '../../support/trusted-documents.ts';

const app = useApp();
let key = '';
beforeAll(async () => {
  ({ key } = await app.account());
  await createPost(app, key, { title: 'before' });
});

/** The schema on the day after `Post.body` was removed. */
function withoutBody(): GraphQLSchema {
  const schema = buildSchema();
  const post = schema.getType('Post');
  if (!isObjectType(post)) throw new Error('Post is no object type');
  delete post.getFields().body;
  return schema;
}

/** What an instance answers to a document by its id and by its text, which must be the same. */
async function same(instance: Pick<TestApp, 'fetch'>, text: string, order: readonly ('id' | 'text')[]) {
  const documentId = await published(app, text);
  const responses = [];
  for (const what of order) {
    const members = what === 'id' ? { documentId } : { query: text };
    for (const method of ['POST', 'GET'] as const) {
      const { status, data, errors } = await askMembers(instance, members, { key, method });
      responses.push({ status, data, errors });
    }
  }
  const [first] = responses;
  expect(responses).toEqual(responses.map(() => first));
  return first;
}

describe('a document that was published with another schema', () => {
  it.each([[['id', 'text', 'id']], [['text', 'id', 'text']]] as const)(
    'is rejected as its text where that is valid no more, asked for by %j',
    async (order) => {
      const old = 'query Old { posts(limit: 1) { title body } }';
      const response = await same(secondInstance(app, { schema: withoutBody() }), old, order);
      expect(response?.errors).toEqual([
        {
          message: 'Cannot query field "body" on type "Post".',
          locations: [{ line: 1, column: 37 }],
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
        },
      ]);
      expect(response?.data).toBeUndefined();
      // Where the schema is the old one it goes on.
      expect((await same(app, old, order))?.data).toEqual({
        posts: [{ title: 'before', body: expect.any(String) }],
      });
    },
  );

  it('runs where it is valid still', async () => {
    const response = await same(
      secondInstance(app, { schema: withoutBody() }),
      'query Still { posts(limit: 1) { title } }',
      ['id', 'text', 'id'],
    );
    expect(response).toEqual({ status: 200, data: { posts: [{ title: 'before' }] }, errors: undefined });
  });

  it('opens streams where it is valid still, and none otherwise', async () => {
    const instance = secondInstance(app, { schema: withoutBody() });
    const [way] = STREAM_WAYS;
    const gone = await published(app, 'subscription Gone { postCreated { body } }');
    const rejected = await readResponse(await requestNamed(instance, { documentId: gone }, way, key));
    expectRejected(rejected, { code: 'GRAPHQL_VALIDATION_FAILED' });
    const still = await published(app, 'subscription Still { postCreated { title } }');
    const stream = await openNamed(instance, { documentId: still }, way, key);
    await createPost(app, key, { title: 'told' });
    expect(await stream.payload()).toEqual({ data: { postCreated: { title: 'told' } } });
  });

  it('is published again where it is valid in the new one, and remains the same', async () => {
    const schema = withoutBody();
    const text = 'query Again { posts(limit: 1) { title } }';
    const id = await published(app, text);
    expect((await publish(app, { [id]: text }, { release: 'next' })).json.published).toBe(1);
    const response = await askMembers(secondInstance(app, { schema }), { documentId: id }, { key });
    expect(dataOf(response)).toEqual({ posts: [{ title: expect.any(String) }] });
  });
});

describe('a document that was published with other settings', () => {
  it('may look at the schema no more than its text may', async () => {
    const config = { ...app.config, introspection: false };
    const text = 'query Look { __schema { queryType { name } } viewer { __typename } }';
    const response = await same(secondInstance(app, { config }), text, ['id', 'text', 'id']);
    expect(new Set(response?.errors?.map(({ extensions }) => extensions.code))).toEqual(
      new Set(['GRAPHQL_VALIDATION_FAILED']),
    );
    expect(response?.data).toBeUndefined();
    expect((await same(app, text, ['id', 'text']))?.data).toMatchObject({ viewer: { __typename: 'User' } });
  });

  it('is within the limits that are set now', async () => {
    const operationLimits = { ...app.config.operationLimits, maxDepth: 2 };
    const response = await same(
      secondInstance(app, { config: { ...app.config, operationLimits } }),
      'query Deep { posts(limit: 1) { author { id } } }',
      ['id', 'text', 'id'],
    );
    expect(response?.errors?.map(({ extensions }) => extensions.code)).toEqual(['DEPTH_LIMIT']);
  });

  it('is rejected as its text where that is too long to be read now', async () => {
    const operationLimits = { ...app.config.operationLimits, maxTokens: 10 };
    const response = await same(
      secondInstance(app, { config: { ...app.config, operationLimits } }),
      'query Long { posts(limit: 1) { id title author { id name } } }',
      ['id', 'text', 'id'],
    );
    expect(response?.errors?.map(({ extensions }) => extensions.code)).toEqual(['GRAPHQL_PARSE_FAILED']);
  });
});
