import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { seedComments, seedPosts } from '../../support/content.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { useSocket } from '../../support/socket.ts';
import { WAYS, WRITING_WAYS } from '../../support/ways.ts';

const QUERIES = [
  '{ posts(limit: 3) { id } }',
  '{ posts(limit: 1) { title } }',
  '{ posts(limit: 0) { title } }',
  '{ posts { id title body commentCount createdAt tags __typename } }',
  '{ posts { tags } }',
  '{ posts { comments { body author { name } } } users { name posts { tags } } }',
  '{ viewer { id name posts { id comments(limit: 1) { body } } } }',
  '{ viewer { name } none: post(id: "x") { title } }',
  '{ a: posts { id } b: posts { author { name createdAt } } }',
  '{ postsConnection { edges { cursor node { body comments { body } } } pageInfo { endCursor } } }',
  '{ __typename posts { body } }',
  '{ viewer { email } users { posts(limit: 101) { id } } }',
  '{ posts { id @skip(if: true) } }',
  '{ __type(name: "Post") { description fields { name } } }',
] as const;

/** Whatever JSON has to escape, and what only looks like it. */
const TEXTS = [
  'line\nline\r\nline\rline',
  '\t\b\f\v',
  String.fromCharCode(...Array.from({ length: 31 }, (_, index) => index + 1)),
  '"quoted" \\back\\ /slash/ \'',
  '\u007f\u0080\u009f\u00a0\u2028\u2029\ufeff\ufffd\uffff',
  'data: {"a" : 1},\n {"b" : 2}\n\nevent: complete',
  '🐧 \u{10ffff} e\u0301 ﷽',
  '<script>&amp;</script>',
  "' || 'x' || $1 -- /* */ %s {0} \\u0041",
];

describe('The response is JSON as JSON.stringify writes it, on one line', () => {
  const app = useApp();
  const socket = useSocket(app);
  const account = useAccount(app, { name: TEXTS[0] ?? '' });

  beforeAll(async () => {
    const ids = await seedPosts(
      app,
      TEXTS.map((text) => ({ authorId: account.id, title: text, body: text, tags: [text, `${text} `] })),
    );
    await seedComments(
      app,
      ids.flatMap((postId) => TEXTS.map((body) => ({ postId, authorId: account.id, body }))),
    );
  });

  describe.each(WAYS)('by $name', (way) => {
    it.each(QUERIES)('%s', async (query) => {
      const { text } = await way.ask(app, { key: account.key, query });
      expect(text).not.toMatch(/[\r\n]/);
      expect(text).toBe(JSON.stringify(JSON.parse(text)));
      if (way.name.startsWith('POST')) return;
      // From a socket it is the same.
      const response = await socket.fetch('/graphql', graphqlPost(query, { key: account.key }));
      expect(await response.text()).toBe(text);
    });
  });

  it('with the text as it was written, whatever is in it', async () => {
    const [way] = WAYS;
    if (way === undefined) throw new Error('there is no way');
    const ask = (query: string, variables?: Record<string, unknown>) =>
      way.ask(app, { key: account.key, query, ...(variables === undefined ? {} : { variables }) });
    const { data } = await ask('{ posts { title body tags comments { body } } }');
    expect(data.posts).toHaveLength(TEXTS.length);
    for (const { title, body, tags, comments } of data.posts) {
      expect(TEXTS).toContain(title);
      expect(body).toBe(title);
      expect(tags).toEqual([title, `${title} `]);
      expect(comments.map((comment: { body: string }) => comment.body)).toEqual(TEXTS);
    }
    const create = 'mutation ($t: String!) { createPost(title: "t", body: $t, tags: [$t]) { id body tags } }';
    const texts = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 50 })
      .filter((text) => !text.includes('\0'));
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const { createPost } = (await ask(create, { t: text })).data;
        const read = await ask(`{ post(id: "${createPost.id}") { body tags } }`);
        expect(read.data).toEqual({ post: { body: text, tags: [text] } });
        expect(read.text).toBe(JSON.stringify({ data: read.data }));
      }),
      { numRuns: 50 },
    );
  });

  it.each(WRITING_WAYS)('of a mutation too, keyed or not, by $name', async (way) => {
    for (const [index, body] of TEXTS.entries())
      for (const payload of ['id body', 'body tags author { name posts(limit: 2) { body } }'])
        for (const key of [undefined, `${way.name} ${index} ${payload.length}`]) {
          const query = `mutation ($body: String!) { createPost(title: "t", body: $body, tags: [$body]) { ${payload} } }`;
          const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
          const asked = { key: account.key, query, variables: { body }, headers };
          const { text, data } = await way.ask(app, asked);
          expect(data.createPost.body).toBe(body);
          expect(text).toBe(JSON.stringify(JSON.parse(text)));
          if (key !== undefined) expect((await way.ask(app, asked)).text).toBe(text);
        }
  });
});
