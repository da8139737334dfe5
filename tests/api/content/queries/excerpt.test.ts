import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { excerptOf } from '../../../../src/schema/post/excerpt.ts';
import { useApp } from '../../../support/app.ts';
import { createPost, seedPosts } from '../../../support/content.ts';
import { watchedDatabase } from '../../../support/database/watched.ts';
import { linesOf } from '../../../support/log-lines.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';
import { secondInstance } from '../../../support/second-instance.ts';

const app = useApp();

const excerptWith = async (key: string, id: string, length: number | string) =>
  dataOf(await app.gql(`{ post(id: "${id}") { excerpt(length: ${length}) } }`, { key })).post.excerpt;

describe('Post.excerpt', () => {
  it.each([
    ['short', 10, 'short'],
    ['exactly ten', 11, 'exactly ten'],
    ['two words', 8, 'two…'],
    ['two words', 4, 'two…'],
    ['two words', 3, 'two…'],
    ['two words', 2, 'tw…'],
    ['line\nbreak\r\nand\ttab\u2028end', 100, 'line break and tab end'],
    ['line\nbreak', 7, 'line…'],
    ['line\nbreak', 4, 'line…'],
    ['a\r\nb c', 3, 'a…'],
    ['👩👩 👩', 3, '👩👩…'],
    ['👩👩👩', 2, '👩👩…'],
    ['  leading', 4, '  le…'],
    ['      ', 3, '   …'],
    ['trailing  space ', 10, 'trailing…'],
  ])('of %j with length %i is %j', async (body, length, expected) => {
    const { key } = await app.account();
    const id = await createPost(app, key, { body });
    expect(await excerptWith(key, id, length)).toBe(expected);
  });

  it('has at most 200 characters of the body by default', async () => {
    const { key } = await app.account();
    const id = await createPost(app, key, { body: 'x'.repeat(300) });
    for (const field of ['excerpt', 'excerpt(length: null)']) {
      const { post } = dataOf(await app.gql(`{ post(id: "${id}") { short: ${field} } }`, { key }));
      expect(post.short).toBe(`${'x'.repeat(200)}…`);
    }
    for (const length of [0, -1, 1_001])
      expectBadInput(
        await app.gql(`{ post(id: "${id}") { excerpt(length: ${length}) } }`, { key }),
        'length',
      );
  });

  it('is the same from the database and from the service', async () => {
    const { key, id: authorId } = await app.account();
    const character = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.constantFrom(' ', '\n', '\r', '\t', '\u0085', '\u2029', 'a', 'é', '👩', '\u00a0'),
      },
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((text) => !text.includes('\0')),
    );
    const bodies = fc.sample(fc.string({ unit: character, minLength: 1, maxLength: 60 }), 60);
    const ids = await seedPosts(
      app,
      bodies.map((body) => ({ authorId, body })),
    );
    const lengths = [1, 2, 7, 20, 59, 60, 61];
    const fields = lengths.map((length) => `e${length}: excerpt(length: ${length})`).join(' ');
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Post { FIELDS } } }'.replace(
      'FIELDS',
      fields,
    );
    const { nodes } = dataOf(await app.gql(query, { key, variables: { ids } }));
    const expected = bodies.map((body) =>
      Object.fromEntries(lengths.map((length) => [`e${length}`, excerptOf(body, length)])),
    );
    expect(nodes).toEqual(expected);
  });

  it('takes no more than its characters of the body out of the database', async () => {
    const { key } = await app.account();
    const body = `secret ${'padding '.repeat(5_000)}`;
    const id = await createPost(app, key, { body });
    const rows: string[] = [];
    const database = watchedDatabase(
      app.database,
      () => undefined,
      (read) => void rows.push(JSON.stringify(read)),
    );
    const instance = secondInstance(app, { database });
    const query = `{ post(id: "${id}") { excerpt(length: 20) } posts(limit: 3) { excerpt(length: 20) } }`;
    const response = await instance.fetch(`/graphql?query=${encodeURIComponent(query)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await response.text()).toContain('"excerpt":"secret padding…"');
    const read = rows.filter((text) => text.includes('secret'));
    expect(read).toHaveLength(1);
    expect(read[0]?.length).toBeLessThan(1_000);
  });
});

describe('A new post with computed fields', () => {
  const pathOf = (requestId: string | null) =>
    linesOf(app.logged, 'graphql.execution_path').find((line) => line.requestId === requestId);

  it('is a single statement', async () => {
    const { key } = await app.account();
    const query = `mutation ($length: Int) { createPost(title: "Computed", body: "first second third") {
      slug short: excerpt(length: $length) long: excerpt __typename } }`;
    const response = await app.gql(query, { key, variables: { length: 7 } });
    expect(dataOf(response).createPost).toEqual({
      slug: 'computed',
      short: 'first…',
      long: 'first second third',
      __typename: 'Post',
    });
    expect(pathOf(response.headers.get('x-request-id'))?.executionPaths).toContain('single_statement');
    expectBadInput(await app.gql(query, { key, variables: { length: 0 } }), 'length');
  });

  it.each([
    [
      'createPost(title: "T", body: "B") { author { id } }',
      'Post.author is not known before the row is inserted',
    ],
    ['createPost(title: "T", body: "B") { tags }', 'Post.tags is not known before the row is inserted'],
    ['createPost(title: "T", body: "B") { ...on Post { id } }', 'the payload has a fragment or a directive'],
    [
      'a: createPost(title: "T", body: "B") { id } b: createPost(title: "T", body: "B") { id }',
      'the mutation has several root fields, a fragment or a directive',
    ],
    ['deletePost(id: "none")', 'Mutation.deletePost needs a transaction'],
  ])('says in the debug log why %s needs a transaction', async (field, reason) => {
    const { key } = await app.account();
    const response = await app.gql(`mutation { ${field} }`, { key });
    dataOf(response);
    const line = pathOf(response.headers.get('x-request-id'));
    expect(line?.fallbackReason).toBe(reason);
    expect(line?.executionPaths).not.toContain('single_statement');
  });
});
