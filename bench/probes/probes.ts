/** A request that nobody sends in good faith. */
export interface Probe {
  readonly name: string;
  /** The body, before it is JSON; `n` makes its text a new one. */
  readonly body: (n: string) => unknown;
  /** The code that it must be rejected with; undefined where it is answered. */
  readonly code: string | undefined;
  /** Whether the connection ends with the response. */
  readonly closes?: true;
}

const repeat = (count: number, part: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_, index) => part(index)).join(separator);
const operation = (query: string, variables?: unknown) => ({ query, variables });
const nested = (n: string, levels: number) =>
  operation(
    `query Q${n} { posts(limit: 1) { ${'author { posts(limit: 1) { '.repeat(levels)} id ${'} }'.repeat(levels)} } }`,
  );
const introspected = (n: string, levels: number) =>
  operation(
    `query Q${n} { __schema { types { ${'fields { type { '.repeat(levels)} name ${'} }'.repeat(levels)} } } }`,
  );
/** Each fragment spreads the one before twice: 2^count fields in a text that grows by a line. */
const exponential = (n: string, count: number) =>
  operation(
    `query Q${n} { posts(limit: 1) { ...F${count} } } fragment F0 on Post { id } ` +
      repeat(
        count,
        (i) =>
          `fragment F${i + 1} on Post { author { posts(limit: 1) { ...F${i} } } author { posts(limit: 1) { ...F${i} } } }`,
      ),
  );

/** The first is what the others are held against; the second, what those are that end their connection. */
export const PROBES: readonly Probe[] = [
  {
    name: 'cheapest list',
    code: undefined,
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id } }`),
  },
  {
    name: 'cheapest list, on a new connection',
    code: undefined,
    closes: true,
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id } }`),
  },
  {
    name: 'alias overload',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(300, (i) => `a${i}: __typename`)} }`),
  },
  {
    name: 'alias overload of lists',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(90, (i) => `a${i}: posts(limit: 1) { id }`)} }`),
  },
  {
    name: 'field duplication, leaf',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(980, () => 'id')} } }`),
  },
  {
    name: 'field duplication, list',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { ${repeat(110, () => 'posts(limit: 1) { id }')} }`),
  },
  {
    name: 'field duplication, nested',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(240, () => 'author { id }')} } }`),
  },
  {
    name: 'field duplication, inline fragments',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(240, () => '... { id }')} } }`),
  },
  {
    name: 'field duplication, spreads',
    code: 'COMPLEXITY_LIMIT',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ${repeat(100, (i) => `...F${i}`)} } } ${repeat(100, (i) => `fragment F${i} on Post { id }`)}`,
      ),
  },
  {
    name: 'directive overload',
    code: 'COMPLEXITY_LIMIT',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id ${repeat(480, () => '@aa')} } }`),
  },
  {
    name: 'directive overload, known',
    code: 'COMPLEXITY_LIMIT',
    body: (n) =>
      operation(`query Q${n} { posts(limit: 1) { id ${repeat(140, () => '@include(if: true)')} } }`),
  },
  {
    name: 'circular fragments',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ...A } } fragment A on Post { id ...B } fragment B on Post { id ...A }`,
      ),
  },
  {
    name: 'circular fragments, many',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) =>
      operation(
        `query Q${n} { posts(limit: 1) { ...F0 } } ${repeat(100, (i) => `fragment F${i} on Post { id ...F${(i + 1) % 100} }`)}`,
      ),
  },
  { name: 'exponential fragments', code: 'DEPTH_LIMIT', body: (n) => exponential(n, 20) },
  { name: 'deep introspection', code: 'DEPTH_LIMIT', body: (n) => introspected(n, 4) },
  { name: 'deep introspection, deeper', code: 'DEPTH_LIMIT', body: (n) => introspected(n, 150) },
  { name: 'deep recursion', code: 'DEPTH_LIMIT', body: (n) => nested(n, 10) },
  { name: 'deep recursion, deeper', code: 'DEPTH_LIMIT', body: (n) => nested(n, 80) },
  {
    name: 'deep values',
    code: 'GRAPHQL_PARSE_FAILED',
    body: (n) => operation(`query Q${n} { post(id: ${'['.repeat(5000)}${']'.repeat(5000)}) { id } }`),
  },
  {
    name: 'too many tokens',
    code: 'GRAPHQL_PARSE_FAILED',
    body: (n) => operation(`query Q${n} { ${'posts(limit: 1) { id } '.repeat(5000)} }`),
  },
  {
    name: 'unknown fields',
    code: 'GRAPHQL_VALIDATION_FAILED',
    body: (n) => operation(`query Q${n} { posts(limit: 1) { ${repeat(40, (i) => `idd${i}`)} } }`),
  },
  {
    name: 'array batching',
    code: 'BAD_REQUEST',
    body: (n) =>
      Array.from({ length: 1_000 }, (_, i) => operation(`query Q${n}x${i} { posts(limit: 1) { id } }`)),
  },
  {
    name: 'huge variables (past the limit of a body)',
    code: 'BAD_REQUEST',
    closes: true,
    body: (n) => operation(`query Q${n} { posts(limit: 1) { id } }`, { a: 'x'.repeat(1_100_000) }),
  },
  {
    name: 'large variables, unused',
    code: undefined,
    body: (n) =>
      operation(`query Q${n} { posts(limit: 1) { id } }`, { a: Array.from({ length: 19_900 }, (_, i) => i) }),
  },
  {
    name: 'large variables, of the wrong type',
    code: 'BAD_USER_INPUT',
    body: (n) =>
      operation(`query Q${n}($limit: Int) { posts(limit: $limit) { id } }`, { limit: 'x'.repeat(250_000) }),
  },
];
