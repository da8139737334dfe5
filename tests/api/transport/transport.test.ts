import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

const QUERY = '{ viewer { name } }';
const MUTATION = 'mutation M { createPost(title: "t", body: "b") { id } }';
const SUBSCRIPTION = 'subscription { postCreated { id } }';

describe('/graphql', () => {
  const app = useApp();
  let authorization = '';
  beforeAll(async () => {
    authorization = `Bearer ${(await app.account({ name: 'Ada' })).key}`;
  });

  const get = (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
    app.fetch(`/graphql?${new URLSearchParams(parameters)}`, { headers: { authorization, ...headers } });
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    app.fetch('/graphql', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
    });
  const postCount = async () =>
    (await app.gql('{ posts(limit: 100) { id } }', { key: authorization.slice(7) })).data.posts.length;

  /** Expects a rejection that is no GraphQL at all (contract: errors). */
  async function expectBadRequest(response: Response, status: number) {
    const { data, errors } = (await response.json()) as Record<string, unknown>;
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/json; charset=utf-8$/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(data).toBeUndefined();
    expect(errors).toEqual([{ message: expect.any(String), extensions: { code: 'BAD_REQUEST' } }]);
  }

  it('runs a query over POST and over GET', async () => {
    const expected = { data: { viewer: { name: 'Ada' } } };
    expect(await (await post({ query: QUERY })).json()).toEqual(expected);
    expect(await (await get({ query: QUERY })).json()).toEqual(expected);
  });

  it('takes variables and the name of an operation over POST and over GET', async () => {
    const query = 'query A { viewer { id } } query B($n: Int) { posts(limit: $n) { id } }';
    const variables = { n: 0 };
    const expected = { data: { posts: [] } };
    expect(await (await post({ query, variables, operationName: 'B' })).json()).toEqual(expected);
    const overGet = await get({ query, variables: JSON.stringify(variables), operationName: 'B' });
    expect(await overGet.json()).toEqual(expected);
  });

  it.each(['', null])(
    'ignores the operation name %j over POST, and an empty one over GET',
    async (operationName) => {
      const named = 'query A { viewer { name } }';
      const expected = { data: { viewer: { name: 'Ada' } } };
      for (const query of [QUERY, named]) {
        expect(await (await post({ query, operationName })).json()).toEqual(expected);
        expect(await (await get({ query, operationName: '' })).json()).toEqual(expected);
      }
      // It selects neither of two operations.
      const two = `${named} query B { viewer { id } }`;
      for (const response of [
        await post({ query: two, operationName }),
        await get({ query: two, operationName: '' }),
      ])
        expect(await response.json()).toEqual({
          errors: [expect.objectContaining({ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } })],
        });
    },
  );

  it('leaves members of the body unread that it does not know', async () => {
    const response = await post({ query: QUERY, extensions: { trace: true }, id: 7, clientVersion: '1' });
    expect(await response.json()).toEqual({ data: { viewer: { name: 'Ada' } } });
  });

  it('answers in the media type that is asked for', async () => {
    const type = async (accept: string) =>
      (await post({ query: QUERY }, { accept })).headers.get('content-type');
    expect(await type('application/json')).toBe('application/json; charset=utf-8');
    expect(await type('application/graphql-response+json')).toBe(
      'application/graphql-response+json; charset=utf-8',
    );
    expect(await type('*/*')).toBe('application/json; charset=utf-8');
  });

  it('rejects a mutation over GET with 405 and Allow, and runs nothing of it', async () => {
    const before = await postCount();
    const response = await get({ query: MUTATION });
    expect(response.headers.get('allow')).toBe('POST');
    await expectBadRequest(response, 405);
    expect(await postCount()).toBe(before);
  });

  it('rejects a mutation over GET for that, also if it is above a limit', async () => {
    const dear = 'author { posts(limit: 100) { comments(limit: 100) { id } } }';
    const query = `mutation { createPost(title: "T", body: "B") { ${dear} } }`;
    await expectBadRequest(await get({ query }), 405);
  });

  it('rejects a mutation over GET also where a query stands beside it', async () => {
    const query = `${MUTATION} query Q { viewer { name } }`;
    await expectBadRequest(await get({ query, operationName: 'M' }), 405);
    expect((await get({ query, operationName: 'Q' })).status).toBe(200);
  });

  it.each([
    ['a batch', [{ query: QUERY }, { query: QUERY }]],
    ['an empty batch', []],
    ['a string', '"query"'],
    ['null', 'null'],
    ['nothing', ''],
    ['broken JSON', '{"query":'],
    ['no query', {}],
    ['a query that is null', { query: null }],
    ['a query that is no string', { query: 1 }],
    ['variables that are no object', { query: QUERY, variables: [] }],
    ['variables in a string', { query: QUERY, variables: '{}' }],
    ['an operation name that is no string', { query: QUERY, operationName: 1 }],
    ['extensions that are no object', { query: QUERY, extensions: 'x' }],
    ['bytes that are not UTF-8', new Blob([new Uint8Array([0x22, 0xff, 0x22])])],
  ])('rejects a body of %s with 400', async (_what, body) => {
    await expectBadRequest(await post(body), 400);
  });

  it.each([
    ['no query', {}],
    ['variables that are no JSON', { query: QUERY, variables: '{' }],
    ['variables that are no object', { query: QUERY, variables: '[1]' }],
  ])('rejects GET with %s with 400', async (_what, parameters) => {
    await expectBadRequest(await get(parameters as Record<string, string>), 400);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
    'application/jsonp',
    'application/json; charset=iso-8859-1',
    '',
  ])('rejects a body of type "%s" with 415', async (type) => {
    await expectBadRequest(await post({ query: QUERY }, { 'content-type': type }), 415);
  });

  it('rejects a media type that it cannot answer in with 406', async () => {
    await expectBadRequest(await post({ query: QUERY }, { accept: 'image/png' }), 406);
    await expectBadRequest(await post({ query: QUERY }, { accept: 'application/json;q=0' }), 406);
  });

  it('rejects a subscription with 406 unless it accepts a stream', async () => {
    for (const accept of ['application/json', 'application/graphql-response+json', '*/*']) {
      await expectBadRequest(await post({ query: SUBSCRIPTION }, { accept }), 406);
      await expectBadRequest(await get({ query: SUBSCRIPTION }, { accept }), 406);
    }
    await expectBadRequest(await post({ query: SUBSCRIPTION }), 406);
  });

  it.each(['application/json', '*/*', 'image/png', undefined])(
    'tells of a field that a subscription does not have before it tells of Accept: %s',
    async (accept) => {
      const given = accept === undefined ? {} : { accept };
      for (const ask of [get, post]) {
        const response = await ask({ query: 'subscription { nothing { id } }' }, given);
        const { errors } = (await response.json()) as { errors: readonly { message: string }[] };
        expect(errors.map(({ message }) => message)).toEqual([
          'Cannot query field "nothing" on type "Subscription".',
        ]);
      }
    },
  );

  it('answers parse and validation errors by the media type (GraphQL over HTTP, section 6.4)', async () => {
    for (const [query, code] of [
      ['{', 'GRAPHQL_PARSE_FAILED'],
      ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    ] as const) {
      for (const [accept, status] of [
        ['application/json', 200],
        ['application/graphql-response+json', 400],
      ] as const) {
        const response = await post({ query }, { accept });
        const { data, errors } = (await response.json()) as {
          data?: unknown;
          errors: readonly Record<string, unknown>[];
        };
        expect(response.status).toBe(status);
        expect(data).toBeUndefined();
        expect(errors).toEqual([
          { message: expect.any(String), locations: expect.any(Array), extensions: { code } },
        ]);
      }
    }
  });
});

describe('paths', () => {
  const app = useApp();

  it.each(['/', '/graphql/', '/graphql/x', '/GraphQL', '/health', '/health/', '/favicon.ico', '/%'])(
    'there is nothing at %s: 404',
    async (path) => {
      const { key } = await app.account();
      for (const method of ['GET', 'POST']) {
        const response = await app.fetch(path, { method, headers: { authorization: `Bearer ${key}` } });
        expect(response.status).toBe(404);
        expect(await response.json()).toEqual({
          errors: [{ message: expect.any(String), extensions: { code: 'NOT_FOUND' } }],
        });
      }
    },
  );
});
