import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { jsonOf } from '../../support/graphql.ts';

const JSON_TYPE = 'application/json';
const GRAPHQL = 'application/graphql-response+json';
const SSE = 'text/event-stream';
const MULTIPART = 'multipart/mixed;subscriptionSpec=1.0';
/** What Apollo Client sends. */
const APOLLO = `multipart/mixed;boundary=graphql;subscriptionSpec=1.0,${GRAPHQL},${JSON_TYPE};q=0.9`;
const ANSWERED = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0';
const SUBSCRIPTION = 'subscription { postCreated { title } }';
const ORIGIN = 'https://pages.example.com';

describe('Accept with the multipart protocol', () => {
  const app = useApp({ settings: { CORS_ORIGINS: ORIGIN, MAX_STREAMS_PER_CLIENT: '1000' } });
  let key = '';
  beforeAll(async () => {
    ({ key } = await app.account());
  });
  interface Asked {
    readonly query: string;
    readonly accept: string;
    readonly credential?: string;
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }
  async function ask({ query, accept, credential = key, method = 'POST', headers = {} }: Asked) {
    const search = method === 'GET' ? `?${new URLSearchParams({ query })}` : '';
    const response = await app.fetch(`/graphql${search}`, {
      method,
      headers: {
        accept,
        authorization: `Bearer ${credential}`,
        ...(method === 'GET' ? {} : { 'content-type': JSON_TYPE }),
        ...headers,
      },
      ...(method === 'GET' ? {} : { body: JSON.stringify({ query }) }),
    });
    return { response, status: response.status, type: response.headers.get('content-type') };
  }

  it.each([
    [MULTIPART, ANSWERED],
    ['multipart/mixed;subscriptionSpec="1.0"', ANSWERED],
    ['Multipart/Mixed; Boundary="-"; SubscriptionSpec=1.0', ANSWERED],
    [APOLLO, ANSWERED],
    [`${JSON_TYPE}, ${MULTIPART}`, ANSWERED],
    [`*/*, ${MULTIPART}`, ANSWERED],
    [`${MULTIPART};q=0.9, ${SSE};q=0.8`, ANSWERED],
    [`${MULTIPART}, ${SSE}`, 'text/event-stream; charset=utf-8'],
    [`${MULTIPART};q=0, ${SSE};q=0.1`, 'text/event-stream; charset=utf-8'],
  ])('gets a subscription with "%s" a stream of %s, over GET and POST', async (accept, expected) => {
    for (const method of ['GET', 'POST']) {
      const { response, status, type } = await ask({ query: SUBSCRIPTION, accept, method });
      expect([status, type]).toEqual([200, expected]);
      expect(response.headers.get('cache-control')).toBe('no-store, no-transform');
      expect(response.headers.has('x-event-id')).toBe(expected === ANSWERED);
      await response.body?.cancel();
    }
  });

  it.each([
    'multipart/mixed',
    'multipart/*',
    '*/*',
    'multipart/mixed;deferSpec=20220824',
    'multipart/mixed;subscriptionSpec=2.0',
    `${MULTIPART};q=0`,
    `${MULTIPART};q=0, ${JSON_TYPE}`,
  ])('is missing in "%s", with which a subscription gets 406', async (accept) => {
    const { response, status, type } = await ask({ query: SUBSCRIPTION, accept });
    expect([status, type]).toEqual([406, `${JSON_TYPE}; charset=utf-8`]);
    const [error] = (await response.json()).errors;
    expect(error.extensions.code).toBe('BAD_REQUEST');
    expect(error.message).toContain(MULTIPART);
  });

  it.each(['{ viewer { id } }', 'mutation { createPost(title: "refused", body: "b") { id } }'])(
    'alone gets 406 for what is no subscription: %s',
    async (query) => {
      const { response, status } = await ask({ query, accept: MULTIPART });
      expect(status).toBe(406);
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
      const { data } = await app.gql('{ posts { title } }', { key });
      expect(data.posts).not.toContainEqual({ title: 'refused' });
    },
  );

  it.each([
    [APOLLO, GRAPHQL],
    [`${MULTIPART}, ${JSON_TYPE}`, JSON_TYPE],
    [`${MULTIPART}, */*;q=0.1`, JSON_TYPE],
    [`${MULTIPART}, ${SSE};q=0.1`, SSE],
  ])('beside other types gets a query the other type: "%s"', async (accept, expected) => {
    const { response, status, type } = await ask({ query: '{ viewer { id } }', accept });
    expect([status, type]).toEqual([200, `${expected}; charset=utf-8`]);
    await response.body?.cancel();
  });

  it.each([
    [MULTIPART, JSON_TYPE, 400],
    [`${MULTIPART}, ${SSE};q=0.1`, SSE, 200],
    [APOLLO, GRAPHQL, 400],
    // An error in the document is 200 in this type (contract: errors).
    [`${MULTIPART}, ${JSON_TYPE}`, JSON_TYPE, 200],
  ])('with "%s" has rejections as %s, by their status', async (accept, expected, invalid) => {
    const { key: narrow } = await app.account({ scopes: ['posts:write'] });
    for (const [asked, status, code] of [
      [{ query: SUBSCRIPTION, credential: 'nonsense' }, 401, 'UNAUTHENTICATED'],
      [{ query: SUBSCRIPTION, credential: narrow }, 403, 'FORBIDDEN'],
      [{ query: 'subscription {' }, invalid, 'GRAPHQL_PARSE_FAILED'],
      [{ query: 'subscription { nothing }' }, invalid, 'GRAPHQL_VALIDATION_FAILED'],
    ] as const) {
      const { response, ...result } = await ask({ ...asked, accept });
      expect(JSON.parse(await jsonOf(response))).toMatchObject({ errors: [{ extensions: { code } }] });
      expect(result.status).toBe(status);
      // Credentials are looked at before anything else of a request. An event stream has no other status than 200.
      const isJson = status === 401 || (expected === SSE && status !== 200);
      expect(result.type).toBe(`${isJson ? JSON_TYPE : expected}; charset=utf-8`);
    }
  });

  it('is answered for a page of another origin, which can read the position and send it back', async () => {
    const headers = { origin: ORIGIN };
    const { response } = await ask({ query: SUBSCRIPTION, accept: APOLLO, headers });
    expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    const exposed = response.headers.get('access-control-expose-headers') ?? '';
    expect(exposed.toLowerCase().split(/,\s*/)).toContain('x-event-id');
    await response.body?.cancel();
    const preflight = await app.fetch('/graphql', {
      method: 'OPTIONS',
      headers: {
        ...headers,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,last-event-id',
      },
    });
    expect(preflight.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('last-event-id');
  });
});
