import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { postsNamed, send, storedFor } from '../../../support/keyed.ts';
import { repeated } from '../../../support/schema/repeated.ts';

const MAXIMUM = 100_000;
/** Larger than the API takes, as another program may have written it; than one operation may be sent, too. */
const LENGTHS = [3 * MAXIMUM, 50 * MAXIMUM];

describe.each(LENGTHS)('a row of %i characters, where answers have at most 100,000 bytes', (length) => {
  const app = useApp({ settings: { MAX_RESPONSE_BYTES: String(MAXIMUM) } });

  it('is rejected with COMPLEXITY_LIMIT wherever it is asked for, changes nothing, and the rest is answered', async () => {
    const { id, key } = await app.account();
    const [postId = ''] = await seedPosts(app, [{ authorId: id, title: 'Large', body: 'x'.repeat(length) }]);
    const rejected = { status: 400, data: undefined };
    const code = (errors: { extensions: { code: string } }[] = []) =>
      errors.map(({ extensions }) => extensions.code);
    for (const query of [
      `{ post(id: "${postId}") { body } }`,
      '{ posts { body } }',
      '{ postsConnection { nodes { title } edges { node { body } } } }',
      // A resolver has to look at whose address it is.
      '{ viewer { email posts { body } } }',
      `mutation { createComment(postId: "${postId}", body: "c") { post { body } } }`,
      `mutation { updatePost(id: "${postId}", title: "changed") { body } }`,
      `mutation { a: createPost(title: "t", body: "b") { id } b: updatePost(id: "${postId}", title: "changed") { body } }`,
    ]) {
      const { status, data, errors } = await app.gql(query, { key });
      expect({ query, status, data }).toEqual({ query, ...rejected });
      expect(code([...(errors ?? [])])).toEqual(['COMPLEXITY_LIMIT']);
      if (query.startsWith('mutation')) {
        const keyed = await send(app, { query, key, idempotencyKey: query.slice(0, 30) });
        expect([keyed.status, keyed.codes, keyed.replayed]).toEqual([400, ['COMPLEXITY_LIMIT'], null]);
      }
      const { data: rest } = await app.gql('{ posts { title commentCount } }', { key });
      expect(rest).toEqual({ posts: [{ title: 'Large', commentCount: 0 }] });
    }
    expect((await app.fetch('/health/live')).status).toBe(200);
  });
});

describe('a response of more than 2^29 characters, which no text can hold', () => {
  const app = useApp();

  it('is rejected after a mutation, which is rolled back', async () => {
    const { id, key } = await app.account();
    const body = '\u0001'.repeat(50_000);
    for (let written = 0; written < 100; written += 20)
      await seedPosts(
        app,
        Array.from({ length: 20 }, () => ({ authorId: id, body })),
      );
    // Six bytes a character in JSON: 30 × 99 × 300,000.
    const bodies = repeated(30, (i) => `b${i}: body`);
    const query = `mutation { createPost(title: "never", body: "b") { author { posts(limit: 100) { ${bodies} } } } }`;
    const { status, data, errors } = await app.gql(query, { key });
    expect([status, data === undefined, errors?.[0]?.extensions.code]).toEqual([
      400,
      true,
      'COMPLEXITY_LIMIT',
    ]);
    const keyed = await send(app, { query, key, idempotencyKey: 'k' });
    expect([keyed.status, keyed.codes]).toEqual([400, ['COMPLEXITY_LIMIT']]);
    expect(await postsNamed(app, 'never')).toBe(0);
    expect(await storedFor(app, id)).toBe(0);
  });
});
