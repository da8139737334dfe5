import { beforeAll, describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../../support/app.ts';
import { seedComments, seedPosts } from '../../../support/content.ts';
import type { GraphQLResponse } from '../../../support/graphql.ts';
import { repeated } from '../../../support/schema/repeated.ts';

const MAXIMUM = 8_388_608;
const BODY = 'x'.repeat(50_000);
const POSTS = 100;

/** Rejected with the figure and the ceiling, in the message and beside it (contract: limits). */
function expectTooLarge({ status, data, errors = [] }: GraphQLResponse, maximum = MAXIMUM): void {
  // Not `toBeUndefined`: a failure would print megabytes.
  expect(data === undefined).toBe(true);
  expect(status).toBe(400);
  expect(errors).toHaveLength(1);
  const [{ message, extensions } = { message: '', extensions: { code: '' } }] = errors;
  expect(extensions).toEqual({
    code: 'COMPLEXITY_LIMIT',
    value: expect.any(Number),
    maximum: expect.any(Number),
  });
  expect([maximum, 2 * maximum, 4 * maximum]).toContain(extensions.maximum);
  expect(extensions.value).toBeGreaterThan(Number(extensions.maximum));
  expect(message).toContain(String(extensions.value));
  expect(message).toContain(String(extensions.maximum));
}

describe('a response of more than 8 MiB is rejected with COMPLEXITY_LIMIT', () => {
  const app = useApp();
  const reader = useAccount(app, { role: 'admin' });
  let postId: string;

  beforeAll(async () => {
    for (let written = 0; written < POSTS; written += 20)
      [postId = ''] = await seedPosts(
        app,
        Array.from({ length: 20 }, () => ({ authorId: reader.id, body: BODY })),
      );
    await seedComments(
      app,
      Array.from({ length: 100 }, () => ({ postId, authorId: reader.id, body: 'y'.repeat(5_000) })),
    );
  });

  const bodies = repeated(30, (i) => `b${i}: body`);

  it.each([
    ['thirty aliases of a long text in a list', `{ posts(limit: 100) { ${bodies} } }`],
    ['the same in a fragment', `{ posts(limit: 100) { ...b } } fragment b on Post { ${bodies} }`],
    ['the same in nodes', `{ postsConnection(first: 100) { nodes { ${bodies} } } }`],
    ['the same in edges', `{ postsConnection(first: 100) { edges { cursor node { ${bodies} } } } }`],
    ['the same below a row', `{ viewer { posts(limit: 100) { ${bodies} } } }`],
    ['a list in a list', '{ posts(limit: 48) { author { posts(limit: 100) { body } } } }'],
    [
      'a connection in a list',
      '{ posts(limit: 40) { author { postsConnection(first: 40) { nodes { body } } } } }',
    ],
    [
      'a text over and over, one row above it',
      '{ post(id: "POST") { comments(limit: 100) { post { a: body b: body } } } }',
    ],
    ['thirty lists', `{ ${repeated(30, (i) => `p${i}: posts(limit: 50) { body }`)} }`],
    [
      'thirty lists, one with what a resolver must answer',
      `{ viewer { email } ${repeated(29, (i) => `p${i}: posts(limit: 50) { body }`)} }`,
    ],
    ['aliases and what a resolver must answer', `{ posts(limit: 100) { author { email } ${bodies} } }`],
  ])('%s', async (_what, query) => {
    expectTooLarge(await app.gql(query.replace('POST', postId), { key: reader.key }));
    // Whoever asks next gets a response.
    expect((await app.gql('{ posts(limit: 1) { id } }', { key: reader.key })).status).toBe(200);
  });

  it.each([
    '{ posts(limit: 48) { author { posts(limit: 100) { body } } } }',
    '{ posts(limit: 40) { author { postsConnection(first: 40) { nodes { body } } } } }',
    '{ posts(limit: 40) { tags a: tags author { posts(limit: 40) { body } } } }',
  ])('%s is measured by the database, which sends none of it', async (query) => {
    const { errors } = await app.gql(query, { key: reader.key });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'COMPLEXITY_LIMIT', maximum: MAXIMUM });
  });

  it('also a dozen of them at once, while others are answered', async () => {
    const query = `{ posts(limit: 100) { ${bodies} } }`;
    const rejected = Promise.all(Array.from({ length: 12 }, () => app.gql(query, { key: reader.key })));
    expect((await app.fetch('/health/live')).status).toBe(200);
    for (const response of await rejected) expectTooLarge(response);
  });

  it('one of just under 8 MiB is given whole', async () => {
    const query = `{ posts(limit: 100) { body } more: posts(limit: 65) { body } }`;
    const { status, data } = await app.gql(query, { key: reader.key });
    expect(status).toBe(200);
    expect(data.posts).toHaveLength(100);
    expect(data.more.every(({ body }: { body: string }) => body === BODY)).toBe(true);
    expectTooLarge(await app.gql(query.replace('65', '70'), { key: reader.key }));
  });
});
