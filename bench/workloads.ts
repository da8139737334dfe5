/** In the order of the tables. */
export const WORKLOADS = [
  'W0',
  'W1',
  'W2',
  'W3',
  'W4',
  'W5',
  'W5l',
  'W6',
  'W6l',
  'W7',
  'W8a',
  'W8b',
  'W9',
] as const;
export type Workload = (typeof WORKLOADS)[number];

/** Texts that are always the same, without connections and keys. */
export const BASIC: readonly Workload[] = ['W0', 'W1', 'W2', 'W3', 'W4'];

/**
 * The order of measuring: workloads of a group are held against each other, so each server runs them one right after
 * the other.
 */
export const GROUPS: readonly (readonly Workload[])[] = [
  ['W0'],
  ['W1'],
  ['W2'],
  ['W3'],
  ['W4', 'W7'],
  ['W5', 'W5l'],
  ['W6', 'W6l'],
  ['W8a', 'W8b'],
  ['W9'],
];

/** A workload that writes leaves rows behind, which the next one must not read. */
export const writes = (workload: Workload) => workload === 'W4' || workload === 'W7';

/** What is asked, as GraphQL of the service in short. */
export const ABOUT: Readonly<Record<Workload, string>> = {
  W0: '`{ __typename }`',
  W1: '`user(id) { name posts(limit: 10) { title commentCount } }`',
  W2: '`posts(limit: 20) { id title author { name } }`',
  W3: '`posts(limit: 20) { title author { name posts(limit: 5) { title commentCount } } }`',
  W4: '`createPost { id title }`',
  W5: '`postsConnection(first: 20) { edges { cursor node { id title author { name } } } pageInfo { hasNextPage endCursor } }`',
  W5l: 'the rows of W5 as a list (the text of W2, measured next to W5)',
  W6: 'W5 and, of each post, `commentsConnection(first: 3) { edges { cursor node { body author { name } } } pageInfo { hasNextPage endCursor } }`',
  W6l: 'the rows of W6 as lists: `posts(limit: 20)` with `comments(limit: 3)`',
  W7: 'W4 with a new `Idempotency-Key` each time',
  W8a: 'W2 in a text never seen: another operation name each time, the SQL is known',
  W8b: 'W2 in a text never seen: another alias each time, the SQL is new',
  W9: 'a page of a web client: viewer with latest posts; connection with tags, authors and previews of comments; aliases, fragments, variables',
};

/** The same in a few words. */
export const NAMES: Readonly<Record<Workload, string>> = {
  W0: 'no data',
  W1: 'a user’s posts',
  W2: 'list',
  W3: 'nested lists',
  W4: 'create a post',
  W5: 'connection',
  W5l: 'W5 as a list',
  W6: 'nested connections',
  W6l: 'W6 as lists',
  W7: 'create with a key',
  W8a: 'new text, known SQL',
  W8b: 'new text, new SQL',
  W9: 'page of a web client',
};

/** How a server is asked. */
export type Dialect = 'floor' | 'graphql' | 'postgraphile';

/** The workloads that are named; all where none is. */
export function chosenWorkloads(names: readonly string[]): readonly Workload[] {
  const chosen = WORKLOADS.filter((name) => names.includes(name));
  return chosen.length === 0 ? WORKLOADS : chosen;
}
