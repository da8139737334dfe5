import type { Content } from './writers.ts';

/** A post as it must arrive. */
export interface ExpectedPost extends Content {
  readonly id: string;
  readonly title: string;
  readonly author: string;
}

/** A subscription, and what it must say of a post. */
export interface Selection {
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly headers?: readonly string[];
  expected(post: ExpectedPost): Readonly<Record<string, unknown>>;
}

export const TITLES: Selection = {
  name: 'titles',
  query: 'subscription { postCreated { title } }',
  expected: ({ title }) => ({ title }),
};

/** One statement writes these for all events that are read at once, and for all accounts. */
export const SHARED_BY_ALL: readonly Selection[] = [
  TITLES,
  {
    name: 'whole posts',
    query: 'subscription { postCreated { id title body tags } }',
    expected: ({ id, title, body, tags }) => ({ id, title, body, tags }),
  },
  {
    name: 'authors',
    query: 'subscription { postCreated { title by: author { name } } }',
    expected: ({ title, author }) => ({ title, by: { name: author } }),
  },
  {
    name: 'comments',
    query:
      'subscription Newest($most: Int!) { postCreated { text: body title commentCount comments(limit: $most) { body } } }',
    variables: { most: 3 },
    expected: ({ title, body }) => ({ text: body, title, commentCount: 0, comments: [] }),
  },
];

/** Only execution tells what a response costs: event by event, and for each account by itself. */
export const EXECUTED: Selection = {
  name: 'titles with their cost',
  query: 'subscription { postCreated { title } }',
  headers: ['x-query-cost: 1'],
  expected: ({ title }) => ({ title }),
};

export const SELECTIONS: readonly Selection[] = [...SHARED_BY_ALL, EXECUTED];

/** The path that subscribes. */
export function pathOf({ query, variables }: Selection): string {
  const search = new URLSearchParams({
    query,
    ...(variables === undefined ? {} : { variables: JSON.stringify(variables) }),
  });
  return `/graphql?${search}`;
}

/** One of so many posts is a long one. */
const LONG_EVERY = 20;

/** What a post says, by its number: of many lengths, in letters of one to four bytes, with all that JSON escapes. */
export function contentOf(number: number): Content {
  const words = number % LONG_EVERY === 0 ? 1_000 : number % 50;
  return {
    body: `“${number}”\n${'żółw 🐢 '.repeat(words)}\\`,
    tags: Array.from({ length: number % 4 }, (_, index) => `tag ${index} of ${number}`),
  };
}
