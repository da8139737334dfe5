/**
 * A request as it goes over the wire. `$KEY` stands for a credential, `$POST` for the id of a post, `$TOKEN` for a stream
 * token, `$DOCUMENT` for the id of a published query, and `$WAY` for the way that the request takes.
 */
export interface AskedOnWire {
  readonly name: string;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Sent once more, and that answer is compared. */
  readonly twice?: boolean;
}

const JSON_TYPE = 'content-type: application/json';
const KEY = 'authorization: Bearer $KEY';
const gql = (query: string, variables?: unknown, operationName?: string) =>
  JSON.stringify({ query, variables, operationName });
const post = (
  name: string,
  query: string,
  headers: readonly string[] = [],
  variables?: unknown,
): AskedOnWire => ({
  name,
  method: 'POST',
  headers: [JSON_TYPE, KEY, ...headers],
  body: gql(query, variables),
});
const get = (name: string, query: string, headers: readonly string[] = []): AskedOnWire => ({
  name,
  target: `/graphql?query=${encodeURIComponent(query)}`,
  headers: [KEY, ...headers],
});
const raw = (name: string, body: string, headers: readonly string[] = [JSON_TYPE, KEY]): AskedOnWire => ({
  name,
  method: 'POST',
  headers,
  body,
});
const aliases = (count: number) => Array.from({ length: count }, (_, at) => `a${at}: __typename`).join(' ');

const POSTS = '{ posts(limit: 3) { id title tags createdAt author { name } } }';
const STREAM = 'accept: text/event-stream';
const MULTIPART = 'accept: multipart/mixed;boundary="-";subscriptionSpec=1.0';
const RESPONSE_TYPE = 'accept: application/graphql-response+json';
const EVENTS = 'subscription { postCreated { id } }';
const CREATE = 'mutation { createComment(postId: "$POST", body: "once") { id body createdAt } }';

/** Requests of every kind, for each way in to answer alike. */
export const REQUESTS: readonly AskedOnWire[] = [
  // Media types and methods.
  post('a query', POSTS),
  get('a query', POSTS),
  post('a query that wants the response type', POSTS, [RESPONSE_TYPE]),
  get('a query that wants the response type', POSTS, [RESPONSE_TYPE]),
  post('a query as an event stream', POSTS, [STREAM]),
  get('a query as an event stream', POSTS, [STREAM]),
  post('a syntax error as an event stream', 'subscription {', [STREAM]),
  get('an unknown field as an event stream', 'subscription { nothing }', [STREAM]),
  post('a scope that is missing, as an event stream', '{ viewer { sessions { id } } }', [STREAM]),
  get('an event stream after its end', POSTS, [STREAM, 'last-event-id: end']),
  post('an event stream after its end', POSTS, [STREAM, 'last-event-id: end']),
  get('an answer after the end of an event stream', POSTS, ['last-event-id: end']),
  post('nothing acceptable', POSTS, ['accept: image/png']),
  post('weights', POSTS, ['accept: application/json;q=0.1, application/graphql-response+json']),
  get('a mutation', 'mutation { __typename }'),
  { name: 'PUT', method: 'PUT', headers: [JSON_TYPE, KEY], body: gql('{ __typename }') },
  { name: 'PATCH of another path', method: 'PATCH', target: '/login', headers: [KEY] },
  { name: 'DELETE', method: 'DELETE', headers: [KEY] },
  { name: 'HEAD', method: 'HEAD', target: '/graphql?query={__typename}', headers: [KEY] },
  { name: 'OPTIONS', method: 'OPTIONS', headers: ['access-control-request-method: POST'] },
  { name: 'no query', headers: [KEY] },
  // Bodies.
  raw('no JSON', '{'),
  raw('an array', '[]'),
  raw('a string', '"x"'),
  raw('no query', '{}'),
  raw('a query that is a number', '{"query":1}'),
  raw('variables that are a list', '{"query":"{__typename}","variables":[]}'),
  raw('variables that are null', '{"query":"{__typename}","variables":null}'),
  raw('extensions that are a number', '{"query":"{__typename}","extensions":1}'),
  raw('an operationName that is a number', '{"query":"{__typename}","operationName":1}'),
  raw('no media type', gql('{ __typename }'), [KEY]),
  raw('another media type', gql('{ __typename }'), ['content-type: text/plain', KEY]),
  raw('another charset', gql('{ __typename }'), ['content-type: application/json; charset=latin1', KEY]),
  raw('a Content-Encoding', gql('{ __typename }'), [JSON_TYPE, KEY, 'content-encoding: gzip']),
  raw('no credentials', gql(POSTS), [JSON_TYPE]),
  raw('no credentials and no JSON', '{', [JSON_TYPE]),
  raw('bad credentials', gql(POSTS), [JSON_TYPE, 'authorization: Bearer nonsense']),
  raw('another scheme', gql(POSTS), [JSON_TYPE, 'authorization: Basic eDp5']),
  raw('introspection without credentials', gql('{ __schema { queryType { name } } }'), [JSON_TYPE]),
  raw('a large body', gql(`{ __typename } #${'x'.repeat(1_000_000)}`)),
  raw('a body past its limit', gql(`{ __typename } #${'x'.repeat(1_100_000)}`)),
  // Documents.
  post('a syntax error', '{ posts('),
  post('an unknown field', '{ nothing }'),
  post('an unknown field that wants the response type', '{ nothing }', [RESPONSE_TYPE]),
  get('an unknown field', '{ nothing }'),
  post('too deep', `{ posts${' { author { posts'.repeat(6)} { id }${' } }'.repeat(6)} }`),
  post('too dear', '{ posts(limit: 100) { author { posts(limit: 100) { id } } } }'),
  post('too many aliases', `{ ${aliases(31)} }`),
  post('aliases', `{ ${aliases(30)} }`),
  post('a name past its limit', `{ ${'a'.repeat(101)}: __typename }`),
  post(
    'fragments',
    'query { ...F } fragment F on Query { posts(limit: 1) { ...G } } fragment G on Post { title }',
  ),
  post('skipped', 'query($no: Boolean!) { posts(limit: 1) @skip(if: $no) { id } __typename }', [], {
    no: true,
  }),
  post('variables that do not fit', 'query($n: Int) { posts(limit: $n) { id } }', [], { n: 'x' }),
  post('two operations and no name', 'query A { __typename } query B { __typename }'),
  // Partial data, and data rejected.
  post('null for nothing', '{ post(id: "nothing") { id } }'),
  post('a scope that is missing', '{ viewer { sessions { id } } }'),
  post('partial data', '{ a: viewer { sessions { id } } posts(limit: 1) { id } }'),
  post('a wrong cursor', '{ postsConnection(after: "x") { nodes { id } } }'),
  // Mutations.
  post('a mutation that fails', 'mutation { createPost(title: "", body: "b") { id } }'),
  post('a mutation of nothing', 'mutation { deletePost(id: "nothing") }'),
  { ...post('a keyed mutation again', CREATE, ['idempotency-key: again']), twice: true },
  {
    ...post('a keyed refusal again', 'mutation { createPost(title: "", body: "b") { id } }', [
      'idempotency-key: no',
    ]),
    twice: true,
  },
  post('a keyed mutation in a transaction', 'mutation { updatePost(id: "$POST", title: "new") { title } }', [
    'idempotency-key: first $WAY',
  ]),
  post('a keyed mutation in one statement', CREATE, ['idempotency-key: alone $WAY']),
  post('a keyed mutation that shows its cost', CREATE, ['idempotency-key: cost $WAY', 'x-show-cost: 1']),
  post('a malformed key', CREATE, ['idempotency-key: "']),
  post('a query over multipart alone', POSTS, [MULTIPART]),
  post('a query that accepts multipart too', POSTS, [MULTIPART, RESPONSE_TYPE]),
  post('an unknown field of a subscription over multipart', 'subscription { nothing }', [MULTIPART]),
  post('a subscription as JSON', EVENTS),
  post('a subscription after no event', EVENTS, [STREAM, 'last-event-id: nothing']),
  get('a subscription after no event', EVENTS, [STREAM, 'last-event-id: nothing']),
  post('a subscription after no event over multipart', EVENTS, [MULTIPART, 'last-event-id: nothing']),
  {
    name: 'HEAD of a subscription',
    method: 'HEAD',
    target: `/graphql?query=${encodeURIComponent(EVENTS)}`,
    headers: [KEY, STREAM],
  },
  {
    name: 'HEAD with a stream token',
    method: 'HEAD',
    target: '/graphql?stream_token=$TOKEN',
    headers: [STREAM],
  },
  raw('POST with a stream token', gql(EVENTS), [JSON_TYPE, STREAM, 'authorization: Bearer $TOKEN']),
  raw('a form', '--x\r\n\r\n--x--', ['content-type: multipart/form-data; boundary=x', KEY]),
  // Conditional requests.
  get('what a cache has', POSTS, ['if-none-match: *']),
  get('what no cache has', POSTS, ['if-none-match: "nothing"']),
  {
    ...get('what a cache has', POSTS, ['if-none-match: *']),
    name: 'HEAD of what a cache has',
    method: 'HEAD',
  },
  // Published documents.
  raw('a published document', '{"documentId":"$DOCUMENT"}'),
  raw(
    'a published document by hash',
    '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"$DOCUMENT"}}}',
  ),
  { name: 'a published document', target: '/graphql?documentId=$DOCUMENT', headers: [KEY] },
  raw('an unknown document', '{"documentId":"nothing"}'),
  raw('an unknown hash', '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"nothing"}}}'),
  raw('a document and a query', '{"query":"{__typename}","documentId":"$DOCUMENT"}'),
  // Headers.
  post('the position in the event log', POSTS, ['x-show-event-id: 1']),
  post('the deprecated elements', POSTS, ['x-show-deprecations: 1']),
  post('the cost', POSTS, ['x-show-cost: 1']),
  post('a request id', POSTS, ['x-request-id: mine']),
  post('an unusable request id', POSTS, ['x-request-id: \u00e9']),
  post('several Accept fields', POSTS, ['accept: text/html', 'accept: application/json']),
  post('a cookie that is none', POSTS, ['cookie: session_id=nothing']),
  raw('a key in the address', gql(POSTS), [JSON_TYPE]),
  { ...raw('a key in the address', gql(POSTS), [JSON_TYPE]), target: '/graphql?api_key=$KEY' },
  { ...raw('two keys', gql(POSTS), [JSON_TYPE]), target: '/graphql?api_key=$KEY&api_key=$KEY' },
  // Other routes.
  { name: 'live', target: '/health/live' },
  { name: 'ready', target: '/health/ready' },
  { name: 'nothing', target: '/nowhere' },
  { name: 'the keys of the issuer', target: '/oauth/jwks' },
  { name: 'the metadata of the issuer', target: '/.well-known/oauth-authorization-server' },
  { name: 'the metadata of the API', target: '/.well-known/oauth-protected-resource/graphql' },
  { name: 'the form to change a password', target: '/.well-known/change-password' },
  { name: 'an authorization of nobody', target: '/oauth/authorize?client_id=x' },
  {
    name: 'a token for nobody',
    method: 'POST',
    target: '/oauth/token',
    headers: ['content-type: application/x-www-form-urlencoded'],
    body: 'grant_type=client_credentials',
  },
  { name: 'a login with GET', target: '/login' },
  {
    name: 'a wrong login',
    method: 'POST',
    target: '/login',
    headers: [JSON_TYPE],
    body: '{"email":"a@example.com","password":"wrong"}',
  },
  { name: 'a logout without a session', method: 'POST', target: '/logout' },
];
