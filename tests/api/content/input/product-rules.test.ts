import { type GraphQLArgument, type GraphQLField, isObjectType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { maxJsonBytes } from '../../../../src/engine/core/field-options.ts';
import type { TextRule } from '../../../../src/engine/core/input.ts';
import { CONTENT_LIMITS, type ContentLimits } from '../../../../src/schema/content-limits.ts';
import { buildSchema } from '../../../../src/schema/schema.ts';
import { useApp } from '../../../support/app.ts';
import { createPost } from '../../../support/content.ts';
import { freshCookie, gqlAs, PASSWORD, type Visitor, visitor } from '../../../support/credentials/session.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

const longer = <Rule extends TextRule>(rule: Rule): Rule => ({ ...rule, max: rule.max + 1 });
/** None of its limits is the one that the product ships with. */
const OTHER: ContentLimits = {
  account: { keyName: longer(CONTENT_LIMITS.account.keyName), maxListed: 2 },
  profile: {
    handle: longer(CONTENT_LIMITS.profile.handle),
    bio: longer(CONTENT_LIMITS.profile.bio),
    avatarUrl: longer(CONTENT_LIMITS.profile.avatarUrl),
  },
  post: {
    title: longer(CONTENT_LIMITS.post.title),
    body: longer(CONTENT_LIMITS.post.body),
    tag: longer(CONTENT_LIMITS.post.tag),
    maxTags: CONTENT_LIMITS.post.maxTags + 1,
    maxFilterTags: CONTENT_LIMITS.post.maxFilterTags + 1,
    slug: longer(CONTENT_LIMITS.post.slug),
    excerpt: longer(CONTENT_LIMITS.post.excerpt),
  },
  draft: { maxPerAccount: 30 },
  search: {
    ...CONTENT_LIMITS.search,
    query: longer(CONTENT_LIMITS.search.query),
    maxWords: CONTENT_LIMITS.search.maxWords + 1,
  },
  comment: { body: longer(CONTENT_LIMITS.comment.body) },
};
const schema = buildSchema(OTHER);

/** The field of a coordinate such as `Post.title`, and the argument of one such as `Mutation.createPost(title:)`. */
function elementsOf(coordinate: string): {
  readonly field: GraphQLField<unknown, unknown>;
  readonly argument: GraphQLArgument | undefined;
} {
  const [, typeName = '', fieldName = '', name] = /^(\w+)\.(\w+)(?:\((\w+):\))?$/.exec(coordinate) ?? [];
  const type = schema.getType(typeName);
  const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
  const argument = field?.args.find((one) => one.name === name);
  if (field === undefined || (name !== undefined && argument === undefined))
    throw new Error(`the schema has no ${coordinate}`);
  return { field, argument };
}

/** A limit, where it is stated, and operations with a value that is as long as `$value`. */
interface Limit {
  readonly limit: number;
  readonly stated: readonly string[];
  readonly argument: string;
  readonly ofLength: (length: number) => unknown;
  readonly operations: readonly string[];
}

const text = (length: number) => 'x'.repeat(length);
const tags = (count: number) => Array.from({ length: count }, (_, index) => `t${index}`);
const TAGS = ['createPost', 'updatePost', 'createDraft', 'updateDraft'].map(
  (field) => `Mutation.${field}(tags:)`,
);

const LIMITS: Readonly<Record<string, Limit>> = {
  'account.keyName': {
    limit: OTHER.account.keyName.max,
    stated: ['Mutation.createApiKey(name:)'],
    argument: 'name',
    ofLength: text,
    operations: [
      `mutation ($value: String!) { createApiKey(name: $value, scopes: ["posts:read"], currentPassword: "${PASSWORD}") { apiKey { id } } }`,
    ],
  },
  'profile.handle': {
    limit: OTHER.profile.handle.max,
    stated: ['User.handle', 'Mutation.updateViewer(handle:)'],
    argument: 'handle',
    ofLength: text,
    operations: ['mutation ($value: String!) { updateViewer(handle: $value) { id } }'],
  },
  'profile.bio': {
    limit: OTHER.profile.bio.max,
    stated: ['User.bio', 'Mutation.updateViewer(bio:)'],
    argument: 'bio',
    ofLength: text,
    operations: ['mutation ($value: String!) { updateViewer(bio: $value) { id } }'],
  },
  'profile.avatarUrl': {
    limit: OTHER.profile.avatarUrl.max,
    stated: ['User.avatarUrl', 'Mutation.updateViewer(avatarUrl:)'],
    argument: 'avatarUrl',
    ofLength: (length) => 'https://a'.padEnd(length, 'x'),
    operations: ['mutation ($value: String!) { updateViewer(avatarUrl: $value) { id } }'],
  },
  'post.title': {
    limit: OTHER.post.title.max,
    stated: [
      'Post.title',
      'Draft.title',
      'Mutation.createPost(title:)',
      'Mutation.updatePost(title:)',
      'Mutation.createDraft(title:)',
      'Mutation.updateDraft(title:)',
    ],
    argument: 'title',
    ofLength: text,
    operations: [
      'mutation ($value: String!) { createPost(title: $value, body: "B") { id } }',
      'mutation ($value: String!) { createPost(title: $value, body: "B") { author { id } } }',
      'mutation ($id: ID!, $value: String) { updatePost(id: $id, title: $value) { id } }',
      'mutation ($value: String) { createDraft(title: $value) { id } }',
    ],
  },
  'post.slug': {
    limit: OTHER.post.slug.max,
    stated: [
      'Post.slug',
      'Draft.slug',
      'Mutation.createPost(slug:)',
      'Mutation.updatePost(slug:)',
      'Mutation.createDraft(slug:)',
    ],
    argument: 'slug',
    ofLength: text,
    operations: ['mutation ($id: ID!, $value: String) { updatePost(id: $id, slug: $value) { id } }'],
  },
  'post.excerpt': {
    limit: OTHER.post.excerpt.max,
    stated: ['Post.excerpt(length:)'],
    argument: 'length',
    ofLength: (length) => length,
    operations: [
      'query ($value: Int) { posts(limit: 1) { excerpt(length: $value) } }',
      'mutation ($value: Int) { createPost(title: "T", body: "B") { excerpt(length: $value) } }',
    ],
  },
  'post.body': {
    limit: OTHER.post.body.max,
    stated: [
      'Post.body',
      'Draft.body',
      'Mutation.createPost(body:)',
      'Mutation.updatePost(body:)',
      'Mutation.createDraft(body:)',
      'Mutation.updateDraft(body:)',
    ],
    argument: 'body',
    ofLength: text,
    operations: [
      'mutation ($value: String!) { createPost(title: "T", body: $value) { id } }',
      'mutation ($value: String!) { createPost(title: "T", body: $value) { author { id } } }',
      'mutation ($id: ID!, $value: String) { updatePost(id: $id, body: $value) { id } }',
      'mutation ($value: String) { createDraft(body: $value) { id } }',
    ],
  },
  'post.tag': {
    limit: OTHER.post.tag.max,
    stated: TAGS,
    argument: 'tags',
    ofLength: text,
    operations: [
      'mutation ($value: String!) { createPost(title: "T", body: "B", tags: [$value]) { id } }',
      'mutation ($id: ID!, $value: String!) { updatePost(id: $id, tags: [$value]) { id } }',
      'mutation ($value: String!) { createDraft(tags: [$value]) { id } }',
    ],
  },
  'post.tag of a filter': {
    limit: OTHER.post.tag.max,
    stated: [],
    argument: 'tag',
    ofLength: text,
    operations: [
      'query ($value: String) { posts(tag: $value) { id } }',
      'query ($value: String) { postsConnection(tag: $value) { nodes { id } } }',
    ],
  },
  'post.maxFilterTags': {
    limit: OTHER.post.maxFilterTags,
    stated: [],
    argument: 'filter',
    ofLength: tags,
    operations: [
      'query ($value: [String!]) { posts(filter: { tags: $value }) { id } }',
      'query ($value: [String!]) { users(limit: 1) { postsConnection(filter: { tags: $value }) { nodes { id } } } }',
    ],
  },
  'post.maxTags': {
    limit: OTHER.post.maxTags,
    stated: ['Post.tags', 'Draft.tags', ...TAGS],
    argument: 'tags',
    ofLength: tags,
    operations: [
      'mutation ($value: [String!]) { createPost(title: "T", body: "B", tags: $value) { id } }',
      'mutation ($value: [String!]) { createPost(title: "T", body: "B", tags: $value) { tags } }',
      'mutation ($id: ID!, $value: [String!]) { updatePost(id: $id, tags: $value) { tags } }',
      'mutation ($value: [String!]) { createDraft(tags: $value) { tags } }',
    ],
  },
  'search.query': {
    limit: OTHER.search.query.max,
    stated: ['Query.searchPosts(query:)'],
    argument: 'query',
    ofLength: text,
    operations: ['query ($value: String!) { searchPosts(query: $value) { nodes { id } } }'],
  },
  'search.maxWords': {
    limit: OTHER.search.maxWords,
    stated: ['Query.searchPosts(query:)'],
    argument: 'query',
    ofLength: (length) => tags(length).join(' '),
    operations: ['query ($value: String!) { searchPosts(query: $value) { nodes { id } } }'],
  },
  'comment.body': {
    limit: OTHER.comment.body.max,
    stated: ['Comment.body', 'Mutation.createComment(body:)'],
    argument: 'body',
    ofLength: text,
    operations: ['mutation ($id: ID!, $value: String!) { createComment(postId: $id, body: $value) { id } }'],
  },
};

const app = useApp({ schema });
let author: Visitor;
let id = '';
beforeAll(async () => {
  author = await visitor(app);
  id = await createPost(app, author.key);
});

/** With what the operation declares of the variables. */
function send(operation: string, value: unknown) {
  const variables = operation.includes('$id') ? { id, value } : { value };
  return gqlAs(app, author.cookie, operation, { variables });
}

describe.each(Object.entries(LIMITS))(
  'Another %s',
  (rule, { limit, stated, argument, ofLength, operations }) => {
    const remedy = `must be the ${rule} that src/schema/schema.ts hands on, instead of a number of its own`;

    it.each(operations)('holds in %s', async (operation) => {
      const atMost = await send(operation, ofLength(limit));
      const above = await send(operation, ofLength(limit + 1));
      const rejections = [atMost, above].map(({ errors = [] }) => errors.length);
      expect(rejections, `what the operation checks ${remedy}`).toEqual([0, 1]);
      dataOf(atMost);
      expectBadInput(above, argument, new RegExp(`${limit}`));
    });

    it('is what descriptions state', () => {
      for (const coordinate of stated) {
        const { field, argument: element = field } = elementsOf(coordinate);
        expect(element.description, `what the description of ${coordinate} states ${remedy}`).toMatch(
          new RegExp(`\\b${limit.toLocaleString('en')}\\b`),
        );
      }
    });

    it('is what the size of a response is bounded by', () => {
      const shown = stated.map(elementsOf).filter((element) => element.argument === undefined);
      for (const { field } of shown)
        expect(maxJsonBytes(field), `what bounds maxCharacters of ${field.name} ${remedy}`).toBeGreaterThan(
          JSON.stringify('\u0001'.repeat(limit)).length - 1,
        );
    });
  },
);

describe('Another account.maxListed', () => {
  const fields = ['apiKeys', 'sessions', 'oauthGrants', 'externalIdentities'];

  it('is how many are listed', async () => {
    for (let made = 0; made < 3; made += 1) await freshCookie(app, author.email);
    const { viewer } = dataOf(await gqlAs(app, author.cookie, '{ viewer { sessions { id } } }'));
    expect(viewer.sessions).toHaveLength(2);
  });

  it('is what descriptions state', () => {
    for (const name of fields) expect(elementsOf(`User.${name}`).field.description).toMatch(/at most 2\b/);
  });
});

describe('Another draft.maxPerAccount', () => {
  const { maxPerAccount } = OTHER.draft;

  it('is how many an account can have', async () => {
    const { id: authorId, cookie } = await visitor(app);
    const data = Array.from({ length: maxPerAccount - 1 }, () => ({
      authorId,
      title: '',
      body: '',
      tags: [],
    }));
    await app.prisma.draft.createMany({ data });
    const create = () => gqlAs(app, cookie, 'mutation { createDraft { id } }');
    dataOf(await create());
    expect((await create()).errors?.[0]?.message).toMatch(new RegExp(`at most ${maxPerAccount} drafts`));
  });

  it('is what descriptions state', () => {
    for (const coordinate of ['User.drafts', 'Mutation.createDraft'])
      expect(elementsOf(coordinate).field.description).toMatch(new RegExp(`at most ${maxPerAccount}\\b`));
  });
});

/** These rules have separate tests, because no argument has them. */
const TRIED_ALONE = ['account.maxListed', 'draft.maxPerAccount'];

it('Every rule of the product is tried here', () => {
  const limits = Object.entries(CONTENT_LIMITS).flatMap(([part, own]) =>
    Object.keys(own).map((name) => `${part}.${name}`),
  );
  const untried = limits.filter((rule) => !TRIED_ALONE.includes(rule) && !(rule in LIMITS));
  expect(
    untried,
    `add ${untried} to LIMITS in tests/api/content/input/product-rules.test.ts: where it is stated, and operations that it bounds`,
  ).toEqual([]);
});
