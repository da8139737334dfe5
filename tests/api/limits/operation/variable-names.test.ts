import { beforeAll, describe, expect, it } from 'vitest';
import { type Account, useApp } from '../../../support/app.ts';
import { seedPosts } from '../../../support/content.ts';
import { partOf, WAYS, WRITING_WAYS } from '../../../support/ways.ts';

/** What every object of JavaScript has a member of, and GraphQL takes for a name. */
const NAMES = Object.getOwnPropertyNames(Object.prototype);

/** JSON writes "__proto__" as any other name; a literal would take it for something else. */
const only = (name: string, value: unknown) => Object.fromEntries([[name, value]]);

describe('A variable is absent unless the client gives it, whatever its name', () => {
  const app = useApp();
  let account: Account;
  beforeAll(async () => {
    account = await app.account();
    await seedPosts(
      app,
      Array.from({ length: 21 }, (_, index) => ({ authorId: account.id, title: `${index}` })),
    );
  });

  /** In each of them a document of its own: costs are kept with it. */
  const text = (query: string, way: string) => `${query} # ${way}`;

  describe.each(WAYS)('by $name', (way) => {
    const ask = (query: string, variables?: Record<string, unknown>) =>
      way.ask(app, {
        key: account.key,
        query: text(query, way.name),
        headers: { 'x-query-cost': '1' },
        ...(variables === undefined ? {} : { variables }),
      });

    it.each(partOf(NAMES, way))(
      'the complexity of one call with $%s is not that of another',
      async (name) => {
        const list = `posts(limit: $${name}) { author { posts(limit: $${name}) { author { posts(limit: $${name}) { id } } } } }`;
        const query = `query ($${name}: Int = 0) { ${list} }`;
        const absent = await ask(query);
        expect(absent.data).toEqual({ posts: [] });
        expect(absent.extensions.cost.complexity).toBe(1);
        // Null is no limit: 20 in each list.
        const nothing = await ask(query, only(name, null));
        expect(nothing.status).toBe(way.limitStatus);
        expect(nothing.codes).toEqual(['COMPLEXITY_LIMIT']);
        expect(nothing.extensions.cost.complexity).toBeGreaterThan(5_000);
        const one = await ask(query, only(name, 1));
        expect(one.data.posts).toHaveLength(1);
        expect(one.extensions.cost.complexity).toBe(1 + (1 + 1 + (1 + 1 + 1)));
        expect((await ask(query)).extensions.cost.complexity).toBe(1);
      },
    );

    it.each(partOf(NAMES, way))('nor is the depth, with $%s as what is skipped by', async (name) => {
      const below = `${'author { posts(limit: 1) { '.repeat(6)}id${' } }'.repeat(6)}`;
      const skipped = below.replace('author', () => `author @skip(if: $${name})`);
      const query = `query ($${name}: Boolean = true) { posts(limit: 1) { id ${skipped} } }`;
      const absent = await ask(query);
      expect(absent.data.posts).toHaveLength(1);
      expect(absent.extensions.cost.depth).toBe(2);
      for (const given of [null, false]) {
        const all = await ask(query, only(name, given));
        expect(all.status).toBe(way.limitStatus);
        expect(all.codes).toEqual(['DEPTH_LIMIT']);
      }
      expect((await ask(query)).data.posts).toHaveLength(1);
    });

    it.each(partOf(NAMES, way))(
      '$%s without a default and without a value is no argument at all',
      async (name) => {
        const { data, errors, extensions } = await ask(
          `query ($${name}: Int) { list: posts(limit: $${name}) { id } page: postsConnection(first: $${name}) { nodes { id } } }`,
        );
        expect(errors).toBeUndefined();
        expect(data.list).toHaveLength(20);
        expect(data.page.nodes).toHaveLength(20);
        expect(extensions.cost.complexity).toBe(1 + 20 + 1 + 20 * 2);
      },
    );

    it.each(partOf(NAMES, way))('a required $%s that is absent is refused', async (name) => {
      const { codes } = await ask(`query ($${name}: ID!) { post(id: $${name}) { id } }`);
      expect(codes).toEqual(['BAD_USER_INPUT']);
    });

    it.each(partOf(NAMES, way))(
      'a fragment, an operation and a response may be called %s too',
      async (name) => {
        const query = `query ${name} { ${name}: viewer { ...${name} } } fragment ${name} on User { ${name}: id posts(limit: 1) { ${name}: title } }`;
        const { data, errors } = await way.ask(app, {
          key: account.key,
          query: text(query, way.name),
          operationName: name,
        });
        expect(errors).toBeUndefined();
        expect(data).toEqual(
          only(name, { ...only(name, account.id), posts: [only(name, expect.any(String))] }),
        );
        const unknown = await ask(`{ viewer { ...${name} } }`);
        expect(unknown.codes).toEqual(['GRAPHQL_VALIDATION_FAILED']);
      },
    );
  });

  it.each(WAYS)('by $name, in a fragment too, whatever that is called', async (way) => {
    for (const name of NAMES) {
      const query = text(
        `query ($given: Boolean!) { viewer { ...${name} } } fragment ${name} on User { id posts(limit: 1) @include(if: $given) { title } }`,
        way.name,
      );
      for (const given of [false, true, false]) {
        const { data } = await way.ask(app, { key: account.key, query, variables: { given } });
        expect('posts' in data.viewer, `${name}: ${given}`).toBe(given);
      }
    }
  });

  it.each(WRITING_WAYS)('by $name, in a mutation too, keyed or not', async (way) => {
    for (const [index, name] of NAMES.entries())
      for (const headers of [{}, { 'idempotency-key': `${way.name} ${index}` }]) {
        const query = `mutation ($${name}: [String!], $t: String = "x") { createPost(title: $t, body: $t, tags: $${name}) { tags } }`;
        const { data, errors } = await way.ask(app, { key: account.key, query, headers });
        expect(errors, name).toBeUndefined();
        expect(data.createPost.tags).toEqual([]);
      }
  });

  it('does not let one call of a key be taken for another', async () => {
    for (const name of NAMES) {
      const query = `mutation ($${name}: String = "a default") { createPost(title: $${name}, body: "b") { title } }`;
      const [way] = WRITING_WAYS;
      if (way === undefined) throw new Error('there is no way to write');
      const headers = { 'idempotency-key': `call ${name}` };
      const first = await way.ask(app, { key: account.key, query, headers });
      expect(first.data.createPost.title).toBe('a default');
      const second = await way.ask(app, { key: account.key, query, headers, variables: only(name, 'b') });
      expect(second.codes).toEqual(['IDEMPOTENCY_KEY_REUSED']);
    }
  });
});
