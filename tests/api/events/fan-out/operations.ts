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
}

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

/** An event as a subscriber got it. */
export interface Got {
  readonly eventId: string;
  readonly data: Parsed;
  readonly errors: readonly GraphqlError[] | undefined;
}
