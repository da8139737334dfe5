import type { Change, PostState, Told } from './ledger.ts';
import type { Content } from './writers.ts';

/** Whether a stream must have an event. */
export type Due = 'always' | 'perhaps' | 'never';

/** The data of an event. */
export interface Data {
  readonly postCreated?: { readonly title?: string };
  readonly changes?: Change & { readonly post?: { readonly title?: string } | null };
}

/** A subscription, and what it must say of an event. */
export interface Selection {
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly headers?: readonly string[];
  due(event: Told): Due;
  /** What identifies an event of this subscription. */
  itemOf(event: Told): string;
  /** The same in the data that it brings; undefined where it is no such data. */
  itemIn(data: Data): string | undefined;
  /** The data, for a post in this state; undefined where there must be none. */
  expected(event: Told, state: PostState | null): Readonly<Record<string, unknown>> | undefined;
}

/** What each subscription to new posts has in common: they are told unless they are gone. */
const NEW_POSTS: Pick<Selection, 'due' | 'itemOf' | 'itemIn'> = {
  due({ kind, post }) {
    if (kind !== 'POST_CREATED') return 'never';
    return post.history.at(-1) === null ? 'perhaps' : 'always';
  },
  itemOf: ({ post }) => post.title,
  itemIn: ({ postCreated }) => postCreated?.title,
};

type Shown = (state: PostState, event: Told) => Readonly<Record<string, unknown>>;

const newPosts = (name: string, query: string, shown: Shown): Selection => ({
  ...NEW_POSTS,
  name,
  query,
  expected: (event, state) => (state === null ? undefined : { postCreated: shown(state, event) }),
});

export const TITLES = newPosts('titles', 'subscription { postCreated { title } }', ({ title }) => ({
  title,
}));

/** Ways to be told of new posts by their titles, where nothing else happens. */
export const NEW_TITLES: readonly Pick<Selection, 'query' | 'itemIn'>[] = [
  TITLES,
  {
    query: 'subscription { changes { kind post { title } } }',
    itemIn: ({ changes }) => changes?.post?.title,
  },
];

/** One statement writes these for all events that are read at once, and for all accounts. */
export const SHARED_NEW_POSTS: readonly Selection[] = [
  TITLES,
  newPosts(
    'whole posts',
    'subscription { postCreated { id title body tags } }',
    ({ title, body, tags }, { postId }) => ({ id: postId, title, body, tags }),
  ),
  newPosts(
    'authors',
    'subscription { postCreated { title by: author { name } } }',
    ({ title }, { post: { account } }) => ({ title, by: { name: account.name } }),
  ),
  {
    ...newPosts(
      'comments',
      'subscription Newest($most: Int!) { postCreated { text: body title commentCount comments(limit: $most) { body } } }',
      ({ title, body, comments }) => ({
        text: body,
        title,
        commentCount: comments.length,
        comments: comments.map((comment) => ({ body: comment.body })),
      }),
    ),
    variables: { most: 3 },
  },
];

/** Only execution tells what a response costs: event by event, and for each account by itself. */
export const executed = (selection: Selection): Selection => ({
  ...selection,
  name: `${selection.name} with their cost`,
  headers: ['x-show-cost: 1'],
});

/** The path that subscribes. */
export function pathOf({ query, variables }: Pick<Selection, 'query' | 'variables'>): string {
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
