import type { Random } from '../../support/random.ts';
import type { Known } from './known.ts';
import type { Written } from './operations.ts';

const times = (count: number, part: (at: number) => string, between = ' ') =>
  Array.from({ length: count }, (_, at) => part(at)).join(between);

/** A figure at a limit, or on either side of it. */
const about = (random: Random, limit: number) => limit + random.pick([-1, 0, 0, 1, 1, 2]);

/** `{ field { field { … } } }`, with what is inside. */
const nested = (fields: readonly string[], inside: string) =>
  fields.reduceRight((below, field) => `{ ${field} ${below} }`, inside);

const ROUND = ['author', 'posts(limit: 1)'];

/** Documents at the limits of operations, each about one of them (contract: limits). */
const FORMS: readonly ((random: Random, known: Known) => string | Omit<Written, 'operationName'>)[] = [
  (random) => `{ ${times(about(random, 30), (at) => `a${at}: __typename`)} }`,
  (random) => `{ ${times(about(random, 30), (at) => `a${at}: posts(limit: 1) { id }`)} }`,
  (random) => `{ posts(limit: 2) { ${times(about(random, 30), (at) => `a${at}: title`)} } }`,
  (random) => `{ ${times(about(random, 50), () => '__typename')} }`,
  (random) =>
    `query { ${times(about(random, 25), () => '...F')} } fragment F on Query { __typename viewer { id } }`,
  (random) => `mutation { ${times(about(random, 50), () => 'deletePost(id: "x")')} }`,
  (random) => `{ __typename ${times(about(random, 50), () => '@skip(if: false)')} }`,
  (random) => `{ __typename ${times(about(random, 50), () => '... @include(if: true) { __typename }')} }`,
  (random) => `{ ${times(about(random, 998), () => '__typename')} }`,
  (random) => `{ viewer { ${times(about(random, 994), () => 'id')} } }`,
  (random) => `{ viewer { ${times(about(random, 46), () => 'id')} } }`,
  (random) => `{ posts(limit: ${about(random, 3)}) { ${times(about(random, 32), () => '... { id }')} id } }`,
  (random) =>
    nested(
      ['posts(limit: 1)', ...Array.from({ length: about(random, 8) }, (_, at) => ROUND[at % 2] ?? '')],
      '{ id }',
    ),
  (random) =>
    nested(
      ['__schema', 'types', ...Array.from({ length: about(random, 2) }, () => 'fields { type'), 'x'],
      '',
    ),
  (random) =>
    nested(['__type(name: "Post")', ...Array.from({ length: about(random, 8) }, () => 'ofType')], '{ name }'),
  (random) => `{ ${'n'.repeat(about(random, 100))}: __typename }`,
  (random) => `query ${'n'.repeat(about(random, 100))} { viewer { id } }`,
  (random) =>
    `query ($${'v'.repeat(about(random, 100))}: Int = 1) { posts(limit: $${'v'.repeat(100)}) { id } }`,
  (random) =>
    `{ ...${'F'.repeat(about(random, 100))} } fragment ${'F'.repeat(100)} on Query { viewer { id } }`,
  (random) => `{ posts(limit: 100) { comments(limit: ${about(random, 49)}) { id } } }`,
  (random) => `{ posts(limit: 50) { comments(limit: 2, offset: ${about(random, 950)}) { id } } }`,
  (random) => `{ posts(offset: ${about(random, 10_000)}, limit: 1) { id } }`,
  (random) => ({
    document:
      'query ($l: Int = 3, $s: Boolean!) { posts(limit: $l) { id comments(limit: $l) @skip(if: $s) { id } } }',
    variables: {
      l: random.pick([null, 0, 70, 71, 100, 101, '1', 2.5]),
      s: random.pick([true, false, null, 'x']),
    },
  }),
  (random) => ({
    document: `query (${times(about(random, 60), (at) => `$v${at}: Int`)}) { ${times(20, (at) => `posts(limit: $v${at}) { id }`)} }`,
    variables: Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`v${at}`, 1])),
  }),
  (random, { postIds, userIds, commentIds }) => ({
    document: `query ($ids: [ID!]!) { nodes(ids: $ids) { ${times(about(random, 48), () => 'id')} ... on Post { title } } }`,
    variables: {
      ids: Array.from({ length: about(random, 100) }, () =>
        random.pick([...postIds, ...userIds, ...commentIds]),
      ),
    },
  }),
  (random, { postIds }) => ({
    document: 'mutation ($id: ID!, $tags: [String!]) { updatePost(id: $id, tags: $tags) { tags } }',
    variables: { id: postIds[0] ?? '', tags: Array.from({ length: about(random, 10) }, (_, at) => `t${at}`) },
  }),
  (random) => {
    const count = about(random, 9);
    const last = random.pick(['id', '...F0']);
    const fragment = (at: number) =>
      `fragment F${at} on User { ${at + 1 < count ? `...F${at + 1} ...F${at + 1}` : last} }`;
    return `{ viewer { ...F0 } } ${times(count, fragment)}`;
  },
];

/** A document about as large as it may be in some way. */
export function writeLarge(random: Random, known: Known): Written {
  const written = random.pick(FORMS)(random, known);
  const operationName = undefined;
  return typeof written === 'string'
    ? { document: written, variables: undefined, operationName }
    : { ...written, operationName };
}
