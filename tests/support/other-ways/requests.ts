import { gzipSync } from 'node:zlib';
import { LOOKS, TEXTS } from './texts.ts';
import {
  BAD,
  EVENTS,
  type Filled,
  get,
  INVALID,
  METHOD,
  NO_JSON,
  NOWHERE,
  type OtherWay,
  PAGE,
  PUBLISHED,
  persisted,
  post,
  REQUIRED,
  RUNS,
  raw,
  SSE,
  TEXT,
  text,
  UNKNOWN,
  UNKNOWN_HASH,
} from './way.ts';

const ALIASES = 'document_id documentID DocumentId id queryId doc_id hash docId persistedId'.split(' ');
const form = (parts: Readonly<Record<string, string>>) =>
  `${Object.entries(parts)
    .map(([name, value]) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('')}--x--\r\n`;

const MEMBERS: readonly OtherWay[] = [
  ...ALIASES.map((alias) =>
    post(`${alias} beside a text`, REQUIRED, ({ id }) => ({ [alias]: id, query: TEXT })),
  ),
  ...ALIASES.map((alias) => post(`a text as ${alias}`, BAD, () => ({ [alias]: TEXT }))),
  post('a text as the id', UNKNOWN, () => ({ documentId: TEXT })),
  post('a text as the hash', UNKNOWN_HASH, () => ({ extensions: persisted(TEXT) })),
  post('an id and a text', BAD, ({ id }) => ({ documentId: id, query: TEXT })),
  post('an id that is null and a text', REQUIRED, () => ({ documentId: null, query: TEXT })),
  post('an id that is a list', BAD, ({ id }) => ({ documentId: [id, TEXT] })),
  post('a text that is a list', BAD, () => ({ query: [TEXT] })),
  post('Query', BAD, () => ({ Query: TEXT })),
  post('a text among the extensions', BAD, () => ({ extensions: { query: TEXT } })),
  post('an id, and a text among the extensions', RUNS, ({ id }) => ({
    documentId: id,
    extensions: { query: TEXT },
  })),
  post('an id, and a text among the variables', RUNS, ({ id }) => ({
    documentId: id,
    variables: { query: TEXT },
  })),
  post('an id, and a text as operationName', INVALID, ({ id }) => ({ documentId: id, operationName: TEXT })),
  post('an id, and another operationName', INVALID, ({ id }) => ({ documentId: id, operationName: 'Other' })),
  post('a published hash and a text', REQUIRED, ({ id }) => ({ query: TEXT, extensions: persisted(id) })),
  post('the hash of a text with it', REQUIRED, () => ({ query: TEXT, extensions: persisted('its-own') })),
  post('that hash alone', UNKNOWN_HASH, () => ({ extensions: persisted('its-own') })),
  post('persistedQuery.query', RUNS, ({ id }) => ({ extensions: persisted(id, { query: TEXT }) })),
  post('persistedQuery.query alone', BAD, () => ({ extensions: { persistedQuery: { query: TEXT } } })),
  raw('twice "query", null last', RUNS, ({ id }) => `{"query":"${TEXT}","query":null,"documentId":"${id}"}`),
  raw('twice "query", null first', BAD, ({ id }) => `{"query":null,"documentId":"${id}","query":"${TEXT}"}`),
  raw('twice "query", the published first', REQUIRED, () => `{"query":"${PUBLISHED}","query":"${TEXT}"}`),
  raw('twice "query", the published last', REQUIRED, () => `{"query":"${TEXT}","query":"${PUBLISHED}"}`),
  raw(
    'twice "documentId", null last',
    REQUIRED,
    ({ id }) => `{"documentId":"${id}","query":"${TEXT}","documentId":null}`,
  ),
  raw(
    'twice "documentId", null first',
    BAD,
    ({ id }) => `{"documentId":null,"query":"${TEXT}","documentId":"${id}"}`,
  ),
  raw('escaped names of members', REQUIRED, () => `{"qu\\u0065ry":"${TEXT}"}`),
  raw('an escaped name beside the id', BAD, ({ id }) => `{"documentId":"${id}","qu\\u0065ry":"${TEXT}"}`),
  raw('a mark of byte order in a name', BAD, () => `{"\ufeffquery":"${TEXT}"}`),
  raw('a mark of byte order', `${BAD} or ${REQUIRED}`, () => `\ufeff{"query":"${TEXT}"}`),
  raw('a text in a prototype', BAD, () => `{"__proto__":{"query":"${TEXT}"}}`),
];

const BODIES: readonly OtherWay[] = [
  post('a batch', BAD, () => [{ query: TEXT }]),
  post('a batch after the published', BAD, ({ id }) => [{ documentId: id }, { query: TEXT }]),
  post('a batch in a batch', BAD, () => [[{ query: TEXT }]]),
  post('a batch by numbers', BAD, () => ({ 0: { query: TEXT }, length: 1 })),
  raw('a form', NO_JSON, () => `query=${encodeURIComponent(TEXT)}`, {
    'content-type': 'application/x-www-form-urlencoded',
  }),
  raw('plain text', NO_JSON, () => JSON.stringify({ query: TEXT }), { 'content-type': 'text/plain' }),
  raw('application/graphql', NO_JSON, () => TEXT, { 'content-type': 'application/graphql' }),
  raw('another charset', NO_JSON, () => JSON.stringify({ query: TEXT }), {
    'content-type': 'application/json; charset=utf-16',
  }),
  raw('multipart', NO_JSON, () => form({ operations: JSON.stringify({ query: TEXT }), map: '{}' }), {
    'content-type': 'multipart/form-data; boundary=x',
  }),
  raw('multipart, with the text as a part', NO_JSON, () => form({ query: TEXT }), {
    'content-type': 'multipart/form-data; boundary=x',
  }),
  raw('a coded body', NO_JSON, () => gzipSync(JSON.stringify({ query: TEXT })), {
    'content-encoding': 'gzip',
  }),
];

const ADDRESSES: readonly OtherWay[] = [
  get('GET', REQUIRED, () => [['query', TEXT]]),
  get('GET as an event stream', REQUIRED, () => [['query', EVENTS]], SSE),
  get('GET with an id and a text', BAD, ({ id }) => [
    ['documentId', id],
    ['query', TEXT],
  ]),
  get('GET with an empty id and a text', BAD, () => [
    ['documentId', ''],
    ['query', TEXT],
  ]),
  get('GET with two texts', REQUIRED, () => [
    ['query', PUBLISHED],
    ['query', TEXT],
  ]),
  get('GET with an empty text first', REQUIRED, () => [
    ['query', ''],
    ['query', TEXT],
  ]),
  get('GET with two ids', RUNS, ({ id }) => [
    ['documentId', id],
    ['documentId', TEXT],
  ]),
  get('GET with two ids, the other way round', UNKNOWN, ({ id }) => [
    ['documentId', TEXT],
    ['documentId', id],
  ]),
  get('GET with Query', BAD, () => [['Query', TEXT]]),
  get('GET with query[]', BAD, () => [['query[]', TEXT]]),
  get('GET with a hash and a text', REQUIRED, ({ id }) => [
    ['query', TEXT],
    ['extensions', JSON.stringify(persisted(id))],
  ]),
  get('GET with a text in the hash', RUNS, ({ id }) => [
    ['extensions', JSON.stringify(persisted(id, { query: TEXT }))],
  ]),
  get('GET for the address bar of a browser', PAGE, () => [['query', TEXT]], {
    accept: 'text/html,*/*;q=0.8',
  }),
  { ...get('HEAD', '400 ', () => [['query', TEXT]]), method: 'HEAD' },
  { ...get('PUT', METHOD, () => [['query', TEXT]]), method: 'PUT' },
  get('GET with another method in a header', REQUIRED, () => [['query', TEXT]], {
    'x-http-method-override': 'POST',
  }),
  post('POST that says GET, with an address', BAD, () => ({}), {
    path: () => `/graphql?query=${encodeURIComponent(TEXT)}`,
    headers: { 'x-http-method-override': 'GET' },
  }),
  post('an id beside a text in the address', RUNS, ({ id }) => ({ documentId: id }), {
    path: () => `/graphql?query=${encodeURIComponent(TEXT)}`,
  }),
  post('a text beside an id in the address', REQUIRED, () => ({ query: TEXT }), {
    path: ({ id }) => `/graphql?documentId=${id}`,
  }),
  text('another path', TEXT, { path: () => '/graphql/', outcome: NOWHERE }),
  text('a path in capitals', TEXT, { path: () => '/GraphQL', outcome: NOWHERE }),
];

const tokenPath = () => '/graphql/stream-token';
const byToken = (
  name: string,
  outcome: string,
  more: (filled: Filled) => readonly (readonly [string, string])[],
): OtherWay => get(name, outcome, (filled) => [['stream_token', filled.token], ...more(filled)], SSE);

/** With a token of the time before. */
export const OLD_TOKENS: readonly OtherWay[] = [
  byToken('a stream token for a text', REQUIRED, () => []),
  byToken('a stream token for a text, and an id', '401 UNAUTHENTICATED', ({ id }) => [['documentId', id]]),
  byToken('a stream token for a text, and a text', '401 UNAUTHENTICATED', () => [['query', PUBLISHED]]),
];

const TOKENS: readonly OtherWay[] = [
  text('asking for a stream token', EVENTS, { path: tokenPath }),
  post('asking for one with an id and a text', BAD, ({ id }) => ({ documentId: id, query: EVENTS }), {
    path: tokenPath,
  }),
  post(
    'asking for one with a hash and a text',
    REQUIRED,
    ({ id }) => ({ query: EVENTS, extensions: persisted(id) }),
    {
      path: tokenPath,
    },
  ),
];

export const OTHER_WAYS: readonly OtherWay[] = [
  ...TEXTS,
  ...LOOKS,
  ...MEMBERS,
  ...BODIES,
  ...ADDRESSES,
  ...TOKENS,
];
