import { ACCEPT_MULTIPART } from '../streams/multipart-stream.ts';
import { CREATE, EVENTS, NOT_VALID, type OtherWay, PUBLISHED, REQUIRED, SSE, TEXT, text } from './way.ts';

/** Texts, and what makes them look like something else. */
export const TEXTS: readonly OtherWay[] = [
  text('a text', TEXT),
  text('a mutation', CREATE),
  text('a mutation with a key', CREATE, { headers: { 'idempotency-key': 'a-key' } }),
  text('the text of a published document', PUBLISHED),
  text('that text, printed otherwise', '# mine\nquery Mine { viewer { id, } }'),
  text('a text with a mark of byte order', `\ufeff${TEXT}`),
  text('a text after a comment that looks like an id', `# documentId: x\n${TEXT}`),
  text('no text', ''),
  text('no document', '{ posts {'),
  text('a text as an event stream', EVENTS, { headers: SSE }),
  text('a text as a multipart stream', EVENTS, { headers: { accept: ACCEPT_MULTIPART } }),
  text('a text for the other media type', TEXT, { headers: { accept: 'application/graphql-response+json' } }),
  {
    name: 'a text and loud headers',
    method: 'POST',
    headers: { 'CONTENT-TYPE': 'APPLICATION/JSON' },
    body: () => JSON.stringify({ query: TEXT }),
    outcome: REQUIRED,
  },
  text('a text and the id in a header', TEXT, { headers: { documentid: 'x', 'x-document-id': 'x' } }),
];

/** Data in the disguise of introspection, which may be open. */
export const LOOKS: readonly OtherWay[] = [
  text('data beside introspection', '{ __schema { queryType { name } } posts { title } }'),
  text('data beside __typename', '{ __typename posts { title } }'),
  text('data in a fragment', '{ __typename ...F } fragment F on Query { posts { title } }'),
  text(
    'data in a fragment of a fragment',
    '{ ...F } fragment F on Query { ...G } fragment G on Query { posts { title } }',
  ),
  text('data in an inline fragment', '{ __typename ... { ... on Query { posts { title } } } }'),
  text(
    'data in a fragment like a member',
    '{ ...__proto__ } fragment __proto__ on Query { posts { title } }',
  ),
  text('a fragment that every object has', '{ __typename ...constructor }'),
  text('data by the alias __schema', '{ __schema: posts { title } }'),
  text('data by the alias __typename', '{ __typename: posts { title } }'),
  text(
    'data that may be skipped',
    'query ($x: Boolean = false) { __typename posts @skip(if: $x) { title } }',
  ),
  text('a mutation by an alias', CREATE.replace('{ c', '{ __typename: c')),
  text('a mutation beside __typename', CREATE.replace('{ c', '{ __typename c')),
  text('a subscription by an alias', EVENTS.replace('{ p', '{ __typename: p'), { headers: SSE }),
  text('data chosen by its name', 'query A { __typename } query B { posts { title } }', {
    operationName: 'B',
  }),
  text('two operations and no name', 'query A { __typename } query B { posts { title } }'),
  text('a name of two', 'query B { __typename } query B { posts { title } }', {
    operationName: 'B',
    outcome: NOT_VALID,
  }),
  text('a name of two, data first', 'query B { posts { title } } query B { __typename }', {
    operationName: 'B',
  }),
  text(
    'a fragment name of two',
    '{ ...F } fragment F on Query { __typename } fragment F on Query { posts { title } }',
    // Whichever is looked at: none runs.
    { outcome: NOT_VALID },
  ),
];
