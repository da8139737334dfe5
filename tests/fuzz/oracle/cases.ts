import type { CallerName, Case } from '../case.ts';
import type { World } from '../world.ts';

/** A case by hand: the document with `$1` and so on for what of the world it names. */
export interface Written {
  readonly document: string;
  readonly caller?: CallerName;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
}

const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');
const only = (name: string, value: unknown) => Object.fromEntries([[name, value]]);

/** A case, or the document alone of one that a member asks. */
type Listed = Written | string;

const askedBy = (caller: CallerName, documents: readonly string[]): Written[] =>
  documents.map((document) => ({ document, caller }));

const NAMES: Listed[] = [
  '{ r1o: posts(limit: 2) { r1o: title id } }',
  '{ __proto__: posts(limit: 2) { constructor: title __proto__: author { toString: name } } }',
  'query ($constructor: Int) { posts(limit: $constructor) { id } }',
  {
    document: 'query ($__proto__: Int = 2) { posts(limit: $__proto__) { id } }',
    variables: only('__proto__', 1),
  },
  'query ($toString: Int!) { posts(limit: $toString) { id } }',
  `{ ${'n'.repeat(100)}: viewer { id } }`,
  `{ ${'n'.repeat(101)}: viewer { id } }`,
  `{ ${'n'.repeat(10_000)}: viewer { id } }`,
  `{ viewer { ${'n'.repeat(10_000)} } }`,
  `{ viewer { ${'a'.repeat(99)}1: id ${'a'.repeat(99)}2: name } }`,
  '{ postsConnection(first: 3) { nodes { x: title } edges { cursor node { x: body } } } }',
  '{ postsConnection(first: 3) { nodes { x: author { y: name } } edges { node { x: tags } } } }',
  '{ viewer { id ...F } viewer { ... on User { name id } } } fragment F on User { createdAt id }',
  '{ posts(limit: 1) { id } posts(limit: 1) { title tags } }',
  '{ posts(limit: 1) { id } posts(limit: 2) { title } }',
];

const READING: Listed[] = [
  '{ posts { id title body tags commentCount createdAt author { id name createdAt } __typename } }',
  '{ posts(limit: 100, offset: 3) { id comments(limit: 2, offset: 1) { id body author { name } } } }',
  '{ posts(createdAfter: "$instant", limit: 5) { id createdAt } }',
  '{ posts(createdAfter: "2020-01-01T05:30:00.0149+05:30") { id } }',
  '{ posts(createdAfter: "2020-01-01") { id } }',
  '{ posts(createdAfter: "2020-01-01T00:00:00Z", offset: 0) { id } }',
  { document: 'query ($t: String) { posts(tag: $t) { id tags } }', variables: { t: 'y "z"' } },
  { document: 'query ($t: String) { posts(tag: $t) { id tags } }', variables: { t: '\ud800' } },
  '{ postsConnection(tag: "") { nodes { id } } }',
  '{ posts(tag: "\\u0000") { id } post(id: "\\u0000") { id } }',
  '{ postsConnection(first: 4, after: "$cursor") { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }',
  '{ usersConnection(limit: 2, after: "$cursor") { edges { cursor node { id } } pageInfo { endCursor } } }',
  '{ postsConnection(after: "nonsense") { nodes { id } } viewer { id } }',
  '{ postsConnection(first: 0) { edges { cursor } pageInfo { hasNextPage startCursor } } }',
  '{ postsConnection(first: 1, limit: 1) { nodes { id } } }',
  '{ posts(limit: 101) { id } users(limit: -1) { id } }',
  '{ a: post(id: "$post") { comments(limit: 101) { id } } b: post(id: "$post") { title } }',
  '{ post(id: "$post") { commentsConnection(first: 2) { nodes { id post { id } } edges { cursor } } } }',
  '{ a: post(id: 5) { id } b: post(id: "$user") { id } c: user(id: "$user") { id name } }',
  { document: 'query ($id: ID = "x") { post(id: $id) { id } viewer { id } }', variables: { id: null } },
  { document: 'query ($id: ID!) { post(id: $id) { id } }', variables: { id: '$POST' } },
];

const FOUND =
  '{ nodes { id title } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';
const COUNTED = '{ nodes { name postCount } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';
const SEARCHING: Listed[] = [
  ...[
    'plain',
    'uber quotes',
    '"drop table"',
    '-null',
    'scri* -x',
    '京都',
    '東京都2020',
    '"東京 tower"',
    '"東京 2020"',
    '',
  ].map((query) => ({
    document: `query ($q: String!) { searchPosts(query: $q, first: 3) ${FOUND} }`,
    variables: { q: query },
  })),
  '{ searchPosts(query: "a b c d e f g h i") { nodes { id } } }',
  '{ searchPosts(query: "a b c d e f g 東京都") { nodes { id } } }',
  `{ searchPosts(query: "-none", after: "$cursor", filter: { author: "$user", tags: ["x"] }) ${FOUND} }`,
  '{ searchPosts(query: "a", filter: { updatedAfter: "$instant" }) { nodes { id } } }',
  {
    document: `{ ${repeat(7, (index) => `a${index}: searchPosts(query: "plain", first: 0) { nodes { id } }`)} }`,
  },
  `{ a: tags(first: 4) ${COUNTED} b: tags(orderBy: NAME, prefix: "n") ${COUNTED} }`,
  { document: `query ($p: String) { tags(first: 1, prefix: $p) ${COUNTED} }`, variables: { p: 'y' } },
  { document: `query ($p: String) { tags(first: 1, prefix: $p) ${COUNTED} }`, variables: { p: null } },
  `{ tags(first: 2, after: "$tag") ${COUNTED} }`,
  `{ tags(orderBy: NAME, after: "$tag") ${COUNTED} }`,
  `{ tags(after: "$cursor") ${COUNTED} }`,
  {
    document: '{ searchPosts(query: "a") { nodes { id } } tags { nodes { name } } }',
    caller: 'write-only-key',
  },
];

const NODES: Listed[] = [
  '{ nodes(ids: ["$user", "none", "$post", "$comment", "$post"]) { __typename id ... on User { name } ... on Post { x: title tags } ... on Comment { x: body post { id } } } }',
  '{ a: node(id: "$comment") { ...N } b: node(id: "$user") { ...N } c: node(id: 5) { id } } fragment N on Node { __typename ... on Comment { author { name ... on Node { id } } } ... on User { posts(limit: 2) { id } } }',
  { document: '{ nodes(ids: ["$user", "$post", "$comment"]) { id } }', caller: 'write-only-key' },
  '{ nodes(ids: ["$user", "$post"]) { id ... on User { email posts { id } } } }',
  { document: '{ node(id: "$user") { ... on User { email } } viewer { id } }', caller: 'other-member' },
  '{ nodes(ids: "$post") { id } none: nodes(ids: []) { id } }',
  {
    document: 'query ($ids: [ID!]! = ["a", "b"]) { nodes(ids: $ids) { id } }',
    variables: { ids: Array.from({ length: 101 }, () => 'x') },
  },
  'query ($ids: [ID!]! = ["$post", "b"]) { nodes(ids: $ids) { id } }',
  { document: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', variables: { ids: ['x', null] } },
  {
    document: 'query ($ids: [ID!] = ["a"]) { nodes(ids: $ids) { id } viewer { id } }',
    variables: { ids: null },
  },
  '{ nodes(ids: ["$post"]) { ... on Post { x: title } ... on User { x: posts { id } } } }',
  '{ node(id: "$post") { ... on Post { ... on User { id } } } }',
  '{ node(id: "$post") { title } }',
];

const CALLERS: Listed[] = [
  '{ users(limit: 3) { name email } }',
  { document: '{ users(limit: 3) { name email } }', caller: 'admin' },
  { document: '{ viewer { email } user(id: "$user") { name email } }', caller: 'other-member' },
  ...askedBy('read-only-key', [
    '{ viewer { id } posts(limit: 1) { id } }',
    '{ user(id: "$user") { id } posts(limit: 1) { id } }',
    '{ posts(limit: 3) { author { name email } } }',
  ]),
  ...askedBy('write-only-key', [
    '{ posts(limit: 101) { id } }',
    '{ post(id: "$post") { id } user(id: "$user") { id } }',
  ]),
  ...askedBy('nobody', [
    '{ viewer { posts { id } } }',
    '{ __typename __type(name: "Post") { name kind } }',
    '{ __typename nothing }',
    '{ __typename',
  ]),
  { document: '{ __typename }', caller: 'stranger' },
  '{ viewer { apiKeys { id } } }',
  {
    document:
      '{ viewer { apiKeys { name scopes prefix expiresAt lastUsedAt } sessions { id current userAgent } oauthGrants { id } externalIdentities { id } } }',
    caller: 'session',
  },
  { document: 'subscription { postCreated { id } }', caller: 'write-only-key' },
  'subscription { postCreated { id } }',
];

const CONDITIONS: Listed[] = [
  {
    document: 'query ($a: Boolean!) { viewer { id @skip(if: $a) name @include(if: $a) } }',
    variables: { a: true },
  },
  {
    document: 'query ($a: Boolean = true) { viewer { id @skip(if: $a) } posts @skip(if: $a) { id } }',
    variables: { a: null },
  },
  {
    document: 'query ($a: Boolean = true) { posts(limit: 2) { id author @skip(if: $a) { name } } }',
    variables: { a: null },
  },
  {
    document: 'query ($a: Boolean!) { ... @include(if: $a) { viewer { id } } __typename }',
    variables: { a: false },
  },
  { document: 'query ($a: Boolean!) { viewer @skip(if: $a) { id } }', variables: { a: true } },
  { document: 'query ($a: Boolean!) { viewer { id } }', variables: { a: 'true' } },
  { document: 'query ($n: Int) { posts(limit: $n) { id } }', variables: { n: '1' } },
  { document: 'query ($n: Int) { posts(limit: $n) { id } }', variables: { n: 1, constructor: {} } },
  { document: 'query ($n: Int $n: Int) { posts(limit: $n) { id } }', variables: { n: 1 } },
  { document: 'query A { viewer { id } } query B { posts(limit: 1) { id } }', operationName: 'B' },
  'query A { viewer { id } } query B { posts(limit: 1) { id } }',
  { document: 'query A { viewer { id } }', operationName: 'constructor' },
  { document: 'query A { viewer { id } }', operationName: '' },
  { document: 'query A { viewer { id } } query B { posts(limit: 1) { id } }', operationName: '' },
];

const SUBSCRIBING: Listed[] = [
  { document: 'subscription ($v: Boolean!) { postCreated @skip(if: $v) { id } }', variables: { v: false } },
  'subscription { postCreated { id } __typename }',
  'subscription { postCreated { nothing } }',
];

const LIMITS: Listed[] = [
  `{ viewer { ${'posts(limit: 1) { author { '.repeat(4)}id${' } }'.repeat(4)} } }`,
  `{ viewer { ${'posts(limit: 1) { author { '.repeat(4)}posts { id }${' } }'.repeat(4)} } }`,
  '{ users(limit: 100) { posts(limit: 48) { id } } posts(limit: 98) { id } }',
  '{ users(limit: 100) { posts(limit: 48) { id } } posts(limit: 98) { id } __typename }',
  {
    document: 'query ($n: Int = 100) { users(limit: $n) { posts(limit: $n) { id } } }',
    variables: { n: null },
  },
  '{ posts(limit: 4) { comments(limit: 2, offset: 95) { id } } }',
  { document: `{ ${repeat(30, (index) => `a${index}: __typename`)} }` },
  { document: `{ ${repeat(31, (index) => `a${index}: __typename`)} }` },
  `{ posts(limit: 1) { ${repeat(60, () => 'id')} } }`,
  `{ __typename ${repeat(51, () => '@skip(if: false)')} }`,
  `{ ${repeat(999, () => 'id')} }`,
  '{ __schema { queryType { fields { type { fields { type { fields { name } } } } } } } }',
  '{ __schema { queryType { name } types { name } } }',
  `{ __schema { directives { args { type { ...T } } } } } fragment T on __Type { ${'ofType { '.repeat(9)}kind${' }'.repeat(9)} }`,
  '{ viewer { id nothing(a: 1) } }',
  '{ viewer { id',
  '{ viewer }',
  '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
];

const WRITING: Listed[] = [
  'mutation { createPost(title: "a\\n\\u2028\\u{1F427}", body: """block\n  text""", tags: ["b", "a"]) { id title body tags createdAt commentCount author { name } } }',
  'mutation { a: createPost(title: "t", body: "b") { id author { posts(limit: 2) { id title } } } }',
  'mutation { createPost(title: " ", body: "", tags: ["a", "a"]) { id } }',
  'mutation { createPost(title: "\\u0085\\u200b", body: "\\u200b") { id } }',
  'mutation { createPost(title: "\\u200bx", body: "\\u200b") { title body } }',
  { document: 'mutation { createPost(title: "t", body: "b") { id } }', caller: 'read-only-key' },
  {
    document: 'mutation { createPost(title: "t", body: "b") { id author { email posts { id } } } }',
    caller: 'write-only-key',
  },
  'mutation { a: updatePost(id: "$post", title: "one") { title } b: updatePost(id: "$post", tags: ["n"]) { title tags } }',
  'mutation { a: createComment(postId: "$post", body: "c") { post { commentCount comments(limit: 100) { id body } } } b: deletePost(id: "$post") c: deletePost(id: "$post") d: createComment(postId: "$post", body: "c") { id } }',
  'mutation { a: updatePost(id: "$post") { id } b: deletePost(id: "nothing") c: updatePost(id: "nothing") { id } d: updatePost(id: "x", title: "") { id } }',
  { document: 'mutation { updatePost(id: "$post", title: "not mine") { id } }', caller: 'other-member' },
  { document: 'mutation { updatePost(id: "$post", title: "an admin’s") { id title } }', caller: 'admin' },
  'mutation { deleteComment(id: "nothing") createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "$password") { key } }',
  ...askedBy('session', [
    'mutation { createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "$password") { key apiKey { id name prefix scopes expiresAt lastUsedAt } } revokeApiKey(id: "x") revokeSession(id: "x") revokeGrant(id: "x") unlinkIdentity(id: "x") }',
    'mutation { createApiKey(name: " ", scopes: ["users:email"]) { key } }',
    'mutation { createApiKey(name: " ", scopes: ["users:email"], currentPassword: "$password") { key } }',
    'mutation { createApiKey(name: "k", scopes: ["posts:read"]) { key } }',
    'mutation { createApiKey(name: "k", scopes: ["posts:read"], currentPassword: "wrong") { key } }',
    'mutation { a: createApiKey(name: "a", scopes: ["posts:read"], currentPassword: "$password") { key } b: createApiKey(name: "b", scopes: ["posts:read"], currentPassword: "$password") { key } }',
  ]),
  {
    document:
      'mutation { a: createApiKey(name: "a", scopes: ["posts:read"]) { key } b: createApiKey(name: "b", scopes: ["posts:read"]) { key } }',
    caller: 'member',
  },
  ...askedBy('session', [
    'mutation { a: changePassword(currentPassword: "wrong", newPassword: "short") b: changePassword(currentPassword: "wrong", newPassword: "short") }',
    'mutation { changePassword(currentPassword: "wrong", newPassword: "short") }',
  ]),
  { document: 'mutation { __typename }', caller: 'nobody' },
];

export const WRITTEN: readonly Written[] = [
  ...NAMES,
  ...READING,
  ...SEARCHING,
  ...NODES,
  ...CALLERS,
  ...CONDITIONS,
  ...SUBSCRIBING,
  ...LIMITS,
  ...WRITING,
].map((listed) => (typeof listed === 'string' ? { document: listed } : listed));

/** The case with what it names put in. */
export function caseOf(
  { known, password }: World,
  { document, caller = 'member', variables, operationName }: Written,
): Case {
  const postId = known.postIds[5] ?? '';
  const filled = document
    .replaceAll('$post', postId)
    .replaceAll('$password', password)
    .replaceAll('$comment', known.commentIds[0] ?? '')
    .replaceAll('$user', known.userIds[0] ?? '')
    .replaceAll('$cursor', known.cursors[10] ?? '')
    // The last one is by the number of posts.
    .replaceAll('$tag', known.tagCursors.at(-3) ?? '')
    .replaceAll('$instant', known.instants[0] ?? '');
  const given = variables?.id === '$POST' ? { id: postId.toUpperCase() } : variables;
  return { document: filled, variables: given, operationName, caller };
}
