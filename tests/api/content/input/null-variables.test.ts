import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { WAYS } from '../../../support/ways.ts';

/** Null for a variable with a default, which may stand where null may not: an error of the place that it stands in. */
describe('A variable that is given as null', () => {
  const app = useApp();
  let account: Account;
  let postId: string;
  beforeAll(async () => {
    account = await app.account({ name: 'Ada' });
    [postId = ''] = await seedPosts(app, [{ authorId: account.id, title: 'the post' }]);
  });

  const posts = () => [{ title: 'the post' }];

  describe.each(WAYS)('by $name', (way) => {
    const ask = (query: string, variables: Record<string, unknown>) =>
      way.ask(app, { key: account.key, query, variables });

    it.each([
      ['user(id: $id) { name }', 'user'],
      ['post(id: $id) { title }', 'post'],
      ['row: user(id: $id) { name posts(limit: 1) { title } }', 'row'],
      ['row: post(id: $id) { author { name } }', 'row'],
      ['... on Query { row: post(id: $id) { title } }', 'row'],
      ['...Root', 'row'],
    ])('as the id of `%s` leaves the other root fields as they are', async (field, name) => {
      const fragment = field === '...Root' ? 'fragment Root on Query { row: post(id: $id) { title } }' : '';
      for (const text of [`posts(limit: 1) { title } ${field}`, `${field} posts(limit: 1) { title }`]) {
        const query = `query ($id: ID = "x") { ${text} } ${fragment}`;
        const { status, data, errors } = await ask(query, { id: null });
        expect(status).toBe(200);
        expect(data).toEqual({ posts: posts(), [name]: null });
        expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([
          [[name], 'BAD_USER_INPUT'],
        ]);
        for (const given of [{}, { id: 'x' }])
          expect((await ask(query, given)).data).toEqual({ posts: posts(), [name]: null });
        const { data: found } = await ask(query, { id: field.includes('user') ? account.id : postId });
        expect(found[name]).not.toBeNull();
      }
    });

    it.each(['skip', 'include'])(
      'as the condition of @%s at the root is an error of the whole',
      async (directive) => {
        for (const text of [
          `posts(limit: 1) @${directive}(if: $v) { title }`,
          `posts(limit: 1) { title } viewer @${directive}(if: $v) { id }`,
          `posts(limit: 1) { title } ... @${directive}(if: $v) { viewer { id } }`,
        ])
          for (const fallback of [true, false]) {
            const query = `query ($v: Boolean = ${fallback}) { ${text} }`;
            const { status, data, codes } = await ask(query, { v: null });
            expect([status, data, codes], query).toEqual([200, null, ['BAD_USER_INPUT']]);
            // What it says does not depend on what was asked before.
            for (const given of [{}, { v: true }, { v: false }])
              expect((await ask(query, given)).errors, query).toBeUndefined();
            expect((await ask(query, { v: null })).data, query).toBeNull();
          }
      },
    );

    it.each(['skip', 'include'])('and further down one of its place, with @%s', async (directive) => {
      for (const [text, path] of [
        [`posts(limit: 1) { title author @${directive}(if: $v) { name } }`, ['posts', 0]],
        [`posts(limit: 1) { title ... @${directive}(if: $v) { id } }`, ['posts', 0]],
        [
          `posts(limit: 1) { author { name posts(limit: 1) { id @${directive}(if: $v) } } }`,
          ['posts', 0, 'author', 'posts', 0],
        ],
        [`viewer { name @${directive}(if: $v) }`, ['viewer']],
        [`postsConnection { nodes { title @${directive}(if: $v) } }`, ['postsConnection', 'nodes', 0]],
      ] as const) {
        const query = `query ($v: Boolean = true) { ${text} }`;
        const { status, data, errors } = await ask(query, { v: null });
        expect([status, data], query).toEqual([200, null]);
        expect(
          errors?.map((error) => [error.path, error.extensions.code]),
          query,
        ).toEqual([[path, 'BAD_USER_INPUT']]);
        expect((await ask(query, { v: true })).errors).toBeUndefined();
      }
    });

    it('as the name of a type is an error of that field alone', async () => {
      const query = 'query ($n: String = "Post") { __typename __type(name: $n) { kind } }';
      const { status, data, errors } = await ask(query, { n: null });
      expect([status, data]).toEqual([200, { __typename: 'Query', __type: null }]);
      expect(errors?.map(({ path, extensions }) => [path, extensions.code])).toEqual([
        [['__type'], 'BAD_USER_INPUT'],
      ]);
      expect((await ask(query, {})).data).toEqual({ __typename: 'Query', __type: { kind: 'OBJECT' } });
    });

    it('as an argument that may be null is no argument', async () => {
      const query =
        'query ($n: Int = 0, $t: String = "none", $i: DateTime = "2001-01-01T00:00:00Z") { posts(limit: $n, tag: $t) { title } since: posts(createdAfter: $i, limit: $n) { title } viewer { posts(limit: $n) { title } } }';
      const { data, errors } = await ask(query, { n: null, t: null, i: null });
      expect(errors).toBeUndefined();
      expect(data).toEqual({ posts: posts(), since: posts(), viewer: { posts: posts() } });
      expect((await ask(query, {})).data).toEqual({ posts: [], since: [], viewer: { posts: [] } });
    });
  });
});
