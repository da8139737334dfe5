import { readFileSync } from 'node:fs';
import {
  buildClientSchema,
  buildSchema as buildFromText,
  findBreakingChanges,
  type GraphQLNamedType,
  getIntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { printedSchema, SCHEMA_FILE } from '../../scripts/print-schema.ts';
import { buildSchema } from '../../src/schema/schema.ts';
import { useApp } from '../support/app.ts';

const schema = buildSchema();

interface Element {
  readonly coordinate: string;
  readonly description: string | null | undefined;
}

function elementsOf(type: GraphQLNamedType): Element[] {
  const own = { coordinate: type.name, description: type.description };
  if (isEnumType(type))
    return [own, ...type.getValues().map((v) => ({ ...v, coordinate: `${type.name}.${v.name}` }))];
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields());
    return [own, ...fields.map((field) => ({ ...field, coordinate: `${type.name}.${field.name}` }))];
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return [own];
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const coordinate = `${type.name}.${field.name}`;
    const args = field.args.map((arg) => ({ ...arg, coordinate: `${coordinate}(${arg.name}:)` }));
    return [{ ...field, coordinate }, ...args];
  });
  return [own, ...fields];
}

/** Everything of the schema that could lack a description, but for what GraphQL itself defines. */
const elements: Element[] = [
  ...Object.values(schema.getTypeMap())
    .filter((type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(elementsOf),
  ...schema
    .getDirectives()
    .filter((directive) => !isSpecifiedDirective(directive))
    .flatMap(({ name, description, args }) => [
      { coordinate: `@${name}`, description },
      ...args.map((arg) => ({ ...arg, coordinate: `@${name}(${arg.name}:)` })),
    ]),
];

describe('schema.graphql', () => {
  const published = readFileSync(SCHEMA_FILE, 'utf8');
  const printed = printedSchema();

  it('is what the code says', () => {
    const withoutNumbers = (text: string) => text.replace(/\d+(,\d+)*/g, 'N');
    expect(
      withoutNumbers(published),
      'run "npm run schema:print" and "npm run docs:api", and look at the differences',
    ).toBe(withoutNumbers(printed));
  });

  it('has the numbers that the code has', () => {
    expect(
      published,
      'A number that clients are promised has changed. Those of the product are in src/schema/content-limits.ts, or are settings with their default in src/platform/config/setting-table.ts. Once it is right there, follow "Changing a number of the product" in docs/contributing/other-changes.md: schema.graphql, docs/reference/api.md, the contract, the tests and the model have it too',
    ).toBe(printed);
  });

  const app = useApp();

  it('is what the service has under the default settings', async () => {
    const { data } = await app.gql(
      getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true }),
    );
    expect(
      printSchema(lexicographicSortSchema(buildClientSchema(data))),
      'src/app/create-app.ts builds its schema with other limits than CONTENT_LIMITS of src/schema/content-limits.ts: a number has two defaults. Take it from the settings in contentLimits, in place of the one that stands there',
    ).toBe(printed.trimEnd());
  });
});

describe('descriptions', () => {
  it.each(elements)('$coordinate says what it means', ({ description }) => {
    expect(description?.trim()).toMatch(/^\p{Lu}.*|^\d.*/u);
  });
});

/** Contract section 1, the part that came first: nothing of it may be renamed, retyped or made required. */
const PROMISED = buildFromText(`
  type User { id: ID!  name: String!  email: String!  posts(limit: Int): [Post!]! }
  type Post { id: ID!  title: String!  body: String!  author: User!  commentCount: Int! }
  type Query { user(id: ID!): User  posts(limit: Int, offset: Int): [Post!]! }
  type Mutation { createPost(title: String!, body: String!): Post!  deletePost(id: ID!): Boolean! }
  type Subscription { postCreated: Post! }
`);

/** Contract section 1 as a whole. */
const CONTRACT = buildFromText(`
  scalar DateTime
  type User { id: ID!  name: String!  email: String!  posts(limit: Int): [Post!]!  createdAt: DateTime!
    postsConnection(limit: Int, first: Int, after: String): PostConnection! }
  type Post { id: ID!  title: String!  body: String!  author: User!  commentCount: Int!  createdAt: DateTime!
    comments(limit: Int, offset: Int): [Comment!]!  tags: [String!]!
    commentsConnection(limit: Int, first: Int, after: String): CommentConnection! }
  type Comment { id: ID!  body: String!  author: User!  post: Post!  createdAt: DateTime! }
  type PostConnection { edges: [PostEdge!]!  nodes: [Post!]!  pageInfo: PageInfo! }
  type PostEdge { cursor: String!  node: Post! }
  type CommentConnection { edges: [CommentEdge!]!  nodes: [Comment!]!  pageInfo: PageInfo! }
  type CommentEdge { cursor: String!  node: Comment! }
  type UserConnection { edges: [UserEdge!]!  nodes: [User!]!  pageInfo: PageInfo! }
  type UserEdge { cursor: String!  node: User! }
  type PageInfo { hasNextPage: Boolean!  hasPreviousPage: Boolean!  startCursor: String  endCursor: String }
  type Query {
    user(id: ID!): User
    users(limit: Int, offset: Int): [User!]!
    usersConnection(limit: Int, first: Int, after: String): UserConnection!
    post(id: ID!): Post
    posts(limit: Int, offset: Int, createdAfter: DateTime, tag: String): [Post!]!
    postsConnection(limit: Int, first: Int, after: String, tag: String): PostConnection!
    viewer: User!
  }
  type Mutation {
    createPost(title: String!, body: String!, tags: [String!]): Post!
    updatePost(id: ID!, title: String, body: String, tags: [String!]): Post!
    deletePost(id: ID!): Boolean!
    createComment(postId: ID!, body: String!): Comment!
    deleteComment(id: ID!): Boolean!
  }
  type Subscription { postCreated: Post! }
`);

describe('the rules of the schema', () => {
  it('the schema breaks nothing of what it has promised', () => {
    expect(findBreakingChanges(CONTRACT, schema)).toEqual([]);
  });

  it('additions to the first promise break nothing of it', () => {
    expect(findBreakingChanges(PROMISED, CONTRACT)).toEqual([]);
  });
});
