import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

const EVENT_STREAM = { accept: 'text/event-stream' };
const VARIABLES = 'subscription ($post: ID!) { changes(post: $post) { kind } }';
const DEEP = `subscription { postCreated ${'{ author { posts '.repeat(6)}{ id }${' } }'.repeat(6)} }`;

interface Members {
  readonly query: string;
  readonly operationName?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Errors of the document and its variables. */
const REJECTED: readonly (readonly [what: string, code: string, members: Members])[] = [
  ['a syntax error', 'GRAPHQL_PARSE_FAILED', { query: 'subscription {' }],
  ['an unknown field', 'GRAPHQL_VALIDATION_FAILED', { query: 'subscription { nothing }' }],
  [
    'an unknown operation',
    'GRAPHQL_VALIDATION_FAILED',
    { query: 'subscription A { postCreated { id } }', operationName: 'B' },
  ],
  ['a missing variable', 'BAD_USER_INPUT', { query: VARIABLES }],
  ['a variable of another type', 'BAD_USER_INPUT', { query: VARIABLES, variables: { post: {} } }],
  ['an invalid argument', 'BAD_USER_INPUT', { query: 'subscription { changes(kinds: []) { kind } }' }],
  ['a field of the caller', 'BAD_USER_INPUT', { query: 'subscription { postCreated { author { role } } }' }],
  ['too deep a selection', 'DEPTH_LIMIT', { query: DEEP }],
  ['too many tokens', 'GRAPHQL_PARSE_FAILED', { query: `{ ${'id '.repeat(1_001)}}` }],
  ['a name that is too long', 'COMPLEXITY_LIMIT', { query: `{ ${'a'.repeat(101)}: __typename }` }],
];

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('Over an event stream by %s', (_path, options) => {
  const app = useApp();
  const socket = useSocket(app, options);
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account());
  });

  function send(method: string, members: Members, headers: Readonly<Record<string, string>> = {}) {
    const own = { ...EVENT_STREAM, authorization: `Bearer ${key}`, ...headers };
    if (method === 'POST')
      return socket.fetch('/graphql', {
        method,
        headers: { 'content-type': 'application/json', ...own },
        body: JSON.stringify(members),
      });
    const parameters = Object.entries(members).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
    return socket.fetch(`/graphql?${new URLSearchParams(parameters)}`, { headers: own });
  }

  describe.each(['GET', 'POST'])('with %s', (method) => {
    it.each(REJECTED)('%s is a `next` with %s, then `complete`', async (_what, code, members) => {
      const response = await send(method, members);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
      const stream = readEventStream(response);
      const told = await stream.next();
      expect(told.errors).toMatchObject([{ extensions: { code } }]);
      expect(told).not.toHaveProperty('data');
      expect(await stream.event()).toMatchObject({ event: 'complete', id: 'end' });
      expect(await stream.block()).toBeUndefined();
    });

    it('errors of credentials and scopes are HTTP errors', async () => {
      const { key: narrow } = await app.account({ scopes: ['posts:write'] });
      const members = { query: 'subscription { postCreated { id } }' };
      for (const [credential, status, code] of [
        ['nonsense', 401, 'UNAUTHENTICATED'],
        [narrow, 403, 'FORBIDDEN'],
      ] as const) {
        const response = await send(method, members, { authorization: `Bearer ${credential}` });
        expect(response.status).toBe(status);
        expect(response.headers.get('content-type')).toMatch(/^application\/json/);
        expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
      }
    });

    it('a document that only credentials lack is no event for a caller without any', async () => {
      const response = await send(method, { query: 'subscription {' }, { authorization: '' });
      expect(response.status).toBe(401);
      await response.body?.cancel();
    });
  });

  it('a malformed request is an HTTP error', async () => {
    const headers = { ...EVENT_STREAM, authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (const body of ['{', '[]', '{}', '{"query":1}']) {
      const response = await socket.fetch('/graphql', { method: 'POST', headers, body });
      expect([body, response.status]).toEqual([body, 400]);
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    }
  });

  it('a client that prefers JSON gets the errors as JSON', async () => {
    const accept = 'application/graphql-response+json, text/event-stream;q=0.9';
    const response = await send('POST', { query: 'subscription { nothing }' }, { accept });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toMatch(/^application\/graphql-response\+json/);
    await response.body?.cancel();
  });

  describe('an EventSource that reconnects after the end', () => {
    const LAST = { 'last-event-id': 'end' };

    it.each([
      ['an invalid document', { query: 'subscription { nothing }' }],
      ['a query', { query: '{ viewer { id } }' }],
    ])('of %s is told to stop by 204', async (_what, members) => {
      const first = readEventStream(await send('GET', members));
      let last: string | undefined;
      for (let block = await first.block(); block !== undefined; block = await first.block())
        last = block.id ?? last;
      const again = await send('GET', members, { 'last-event-id': last ?? '' });
      expect([again.status, await again.text()]).toEqual([204, '']);
      expect(again.headers.get('cache-control')).toBe('no-store');
      expect(again.headers.get('x-ratelimit-limit')).toBeTruthy();
    });

    it('still needs valid credentials', async () => {
      const members = { query: '{ viewer { id } }' };
      const response = await send('GET', members, { ...LAST, authorization: 'Bearer wrong' });
      expect(response.status).toBe(401);
      await response.body?.cancel();
    });

    it('is the only request that is: others have no event with that id', async () => {
      const query = 'subscription { postCreated { id } }';
      const posted = readEventStream(await send('POST', { query }, LAST));
      expect((await posted.next()).errors).toMatchObject([{ extensions: { argument: 'lastEventId' } }]);
      const json = { accept: 'application/json', ...LAST };
      const responded = await send('GET', { query: '{ __typename }' }, json);
      expect(await responded.json()).toEqual({ data: { __typename: 'Query' } });
      const elsewhere = await socket.fetch('/health/live', { headers: { ...EVENT_STREAM, ...LAST } });
      expect(elsewhere.status).toBe(200);
      await elsewhere.body?.cancel();
    });
  });
});
