import type { Scope } from '../../../../src/auth/scopes.ts';
import type { GraphqlError } from '../../../support/graphql.ts';
import type { Parsed } from '../../../support/parsed.ts';

/** A post as the test knows it: what has been acknowledged, and what has been asked for. */
export interface KnownPost {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  readonly authorName: string;
  readonly authorEmail: string;
  readonly tags: readonly string[];
  /** Its title is `number:version`. */
  version: number;
  comments: number;
  deleted: boolean;
}

/** Who subscribes. */
export interface Reader {
  readonly accountId: string;
  readonly role: 'member' | 'admin';
  readonly scopes: readonly Scope[];
}

/** What a subscriber asks for, and what it must get for a post beside `id` and `title`. */
export interface Operation {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The number of comments that it shows at most. */
  readonly mostComments?: number;
  /** Throws if the rest of the data is wrong. Comments are judged elsewhere. */
  expected(post: KnownPost, reader: Reader): object;
  /** Whether the reader is refused a field, which leaves no data. */
  refused?(post: KnownPost, reader: Reader): boolean;
  commentsOf?(data: Parsed): readonly { readonly body: string }[];
  /** Whether it is of `changes`: posts that are gone are told, too. */
  readonly changes?: true;
  /** Whose posts it is told of; of everybody's if undefined. */
  readonly authorId?: string;
}

/** The post that an event shows; null for one that is gone. */
export const postIn = ({ changes }: Operation, data: Parsed): Parsed =>
  changes === true ? data.changes.post : data.postCreated;

const seesEmail = ({ authorId }: KnownPost, { accountId, scopes }: Reader) =>
  scopes.includes(accountId === authorId ? 'users:read' : 'users:email');

/** Those that the database answers, those that resolvers answer, and those that depend on who asks. */
export const OPERATIONS: readonly Operation[] = [
  { query: 'subscription { postCreated { id title } }', expected: () => ({}) },
  // The same for all who ask: written otherwise.
  {
    query: 'subscription Same { ...F } fragment F on Subscription { postCreated { id title } }',
    expected: () => ({}),
  },
  {
    query: 'subscription { postCreated { id title author { name } } }',
    expected: ({ authorName }) => ({ author: { name: authorName } }),
  },
  ...[1, 3].map(
    (n): Operation => ({
      query: 'subscription ($n: Int!) { postCreated { id title comments(limit: $n) { body } } }',
      variables: { n },
      mostComments: n,
      expected: () => ({}),
      commentsOf: ({ comments }) => comments,
    }),
  ),
  {
    query: 'subscription { postCreated { id title commentsConnection(limit: 2) { nodes { body } } } }',
    mostComments: 2,
    expected: () => ({}),
    commentsOf: ({ commentsConnection }) => commentsConnection.nodes,
  },
  {
    query: 'subscription { postCreated { id title author { id email } } }',
    expected: ({ authorId: id, authorEmail: email }) => ({ author: { id, email } }),
    refused: (post, reader) => !seesEmail(post, reader),
  },
  ...[true, false].map(
    (given): Operation => ({
      query: 'subscription ($with: Boolean!) { postCreated { id title tags @include(if: $with) } }',
      variables: { with: given },
      expected: ({ tags }) => (given ? { tags } : {}),
    }),
  ),
];

/** The creation of posts as `changes` tells it: filtered by kind, and by author. */
export const changesOf = (authorId: string): readonly Operation[] => [
  {
    query: 'subscription { changes(kinds: [POST_CREATED]) { kind post { id title } } }',
    changes: true,
    expected: () => ({}),
  },
  {
    query:
      'subscription ($author: ID!) { changes(author: $author, kinds: [POST_CREATED]) { post { id title author { name } } } }',
    variables: { author: authorId },
    changes: true,
    authorId,
    expected: ({ authorName }) => ({ author: { name: authorName } }),
  },
  {
    query:
      'subscription ($author: ID!) { changes(kinds: [POST_CREATED], author: $author) { at post { id title comments(limit: 3) { body } } } }',
    variables: { author: authorId },
    changes: true,
    authorId,
    mostComments: 3,
    expected: () => ({}),
    commentsOf: ({ comments }) => comments,
  },
];

/** An event as a subscriber got it. */
export interface Got {
  readonly eventId: string;
  readonly data: Parsed;
  readonly errors: readonly GraphqlError[] | undefined;
}
