import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { askMembers, freshId, NAMINGS, publish, published } from '../../support/trusted-documents.ts';

const app = useApp();
let key = '';
let userId = '';
beforeAll(async () => {
  ({ key, id: userId } = await app.account());
});

const METHODS = ['POST', 'GET'] as const;
const BOTH = NAMINGS.flatMap(([name, members]) => METHODS.map((method) => [name, method, members] as const));
const refusalFor = (naming: string, id: string) =>
  naming === 'persistedQuery'
    ? { status: 200, message: 'PersistedQueryNotFound', code: 'PERSISTED_QUERY_NOT_FOUND' }
    : { status: 404, message: expect.stringContaining(`"${id}"`), code: 'DOCUMENT_NOT_FOUND' };

describe.each(BOTH)('a document that is named by %s over %s', (naming, method, members) => {
  it('runs, with variables', async () => {
    const text = 'query Titles($limit: Int!) { posts(limit: $limit) { title } viewer { id } }';
    const id = await published(app, text);
    await createPost(app, key, { title: 'one' });
    const response = await askMembers(app, { ...members(id), variables: { limit: 1 } }, { key, method });
    expect(dataOf(response)).toEqual({ posts: [{ title: 'one' }], viewer: { id: userId } });
  });

  it('runs the operation of its name', async () => {
    const id = await published(app, 'query A { a: __typename } query B { b: __typename viewer { id } }');
    const ask = (operationName?: string) =>
      askMembers(app, { ...members(id), ...(operationName && { operationName }) }, { key, method });
    expect(dataOf(await ask('B'))).toEqual({ b: 'Query', viewer: { id: userId } });
    expect(dataOf(await ask('A'))).toEqual({ a: 'Query' });
    for (const name of [undefined, 'C'])
      expectRejected(await ask(name), { code: 'GRAPHQL_VALIDATION_FAILED' });
  });

  it.each(['application/json', 'application/graphql-response+json', '*/*', 'text/event-stream'])(
    'is rejected where nobody has published it, for %s',
    async (accept) => {
      await published(app, '{ viewer { id } }');
      const id = freshId();
      const response = await askMembers(app, members(id), { key, method, headers: { accept } });
      const { status, message, code } = refusalFor(naming, id);
      expect(response.status).toBe(status);
      expect(response.headers.get('cache-control')).toMatch(/^no-store/);
      expect(response.data).toBeUndefined();
      expect(response.errors).toEqual([{ message, extensions: { code } }]);
    },
  );

  it('is found as soon as it is published, though it was asked for before', async () => {
    const id = freshId();
    for (let i = 0; i < 3; i += 1)
      expect((await askMembers(app, members(id), { key, method })).errors).toHaveLength(1);
    await publish(app, { [id]: '{ viewer { id } }' });
    expect(dataOf(await askMembers(app, members(id), { key, method }))).toEqual({ viewer: { id: userId } });
  });

  it('is 401 without credentials, published or not, and whatever else is wrong', async () => {
    const known = await published(app, '{ viewer { id } }');
    const more = [{}, { query: '{ viewer { id } }' }, { operationName: 'No' }, { variables: 'x' }];
    for (const id of [known, freshId(), 'x'.repeat(200), ''])
      for (const others of more) {
        const response = await askMembers(app, { ...members(id), ...others }, { method });
        expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
      }
    const response = await askMembers(app, members(known), { method, key: 'wrong' });
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('has its own permissions, limits and variables checked as a text has', async () => {
    const { key: reader } = await app.account({ scopes: ['posts:read'] });
    const id = await published(
      app,
      'query ($limit: Int!) { viewer { sessions { id } } posts(limit: $limit) { id } }',
    );
    const ask = (variables: object, who: string) =>
      askMembers(app, { ...members(id), variables }, { key: who, method });
    const text = (variables: object, who: string) =>
      app.gql('query ($limit: Int!) { viewer { sessions { id } } posts(limit: $limit) { id } }', {
        key: who,
        variables,
      });
    for (const [variables, who] of [
      [{ limit: 1 }, reader],
      [{ limit: 'x' }, key],
      [{}, key],
      [{ limit: 1_000_000 }, key],
    ] as const) {
      const [named, sent] = [await ask(variables, who), await text(variables, who)];
      expect(sent.errors).toBeDefined();
      expect([named.status, named.data, named.errors]).toEqual([sent.status, sent.data, sent.errors]);
    }
  });
});

describe('a request that names no document rightly', () => {
  const BAD = { code: 'BAD_REQUEST', status: 400 } as const;

  it.each(METHODS)('is rejected with a text and an id over %s', async (method) => {
    const id = await published(app, '{ viewer { id } }');
    const response = await askMembers(app, { documentId: id, query: '{ viewer { id } }' }, { key, method });
    expectRejected(response, { ...BAD, message: /both "query" and "documentId"/ });
  });

  it.each([[3], [true], [{}], [['x']]])('is rejected where documentId is %j', async (documentId) => {
    expectRejected(await askMembers(app, { documentId }, { key }), {
      ...BAD,
      message: /"documentId" must be a string/,
    });
  });

  it.each([
    [{}],
    [{ documentId: null }],
    [{ extensions: {} }],
    [{ extensions: { persistedQuery: {} } }],
    [{ extensions: { persistedQuery: { sha256Hash: 3 } } }],
    [{ extensions: { persistedQuery: 'x' } }],
  ])('is rejected with nothing but %j', async (members) => {
    expectRejected(await askMembers(app, members, { key }), {
      ...BAD,
      message: /no "query" and no "documentId"/,
    });
  });

  it('is rejected where it names two documents, and not where it names one twice', async () => {
    const [one, two] = [await published(app, '{ viewer { id } }'), await published(app, '{ __typename }')];
    const both = (documentId: string, sha256Hash: string) =>
      askMembers(app, { documentId, extensions: { persistedQuery: { sha256Hash } } }, { key });
    expectRejected(await both(one, two), { ...BAD, message: /has two document ids/ });
    expect(dataOf(await both(one, one))).toEqual({ viewer: { id: userId } });
  });

  it('takes null for nothing', async () => {
    const id = await published(app, '{ viewer { id } }');
    const viewer = { viewer: { id: userId } };
    expect(dataOf(await askMembers(app, { documentId: id, query: null }, { key }))).toEqual(viewer);
    expect(dataOf(await askMembers(app, { documentId: null, query: '{ viewer { id } }' }, { key }))).toEqual(
      viewer,
    );
  });
});

describe('a text with the hash of persistedQuery', () => {
  it('decides, and registers nothing', async () => {
    const id = await published(app, '{ viewer { id } }');
    const ask = (sha256Hash: string, query?: string) =>
      askMembers(
        app,
        { ...(query && { query }), extensions: { persistedQuery: { version: 1, sha256Hash } } },
        { key },
      );
    expect(dataOf(await ask(id, '{ t: __typename }'))).toEqual({ t: 'Query' });
    expect(dataOf(await ask(id))).toEqual({ viewer: { id: userId } });
    const fresh = freshId();
    expect(dataOf(await ask(fresh, '{ t: __typename }'))).toEqual({ t: 'Query' });
    expectRejected(await ask(fresh), { code: 'PERSISTED_QUERY_NOT_FOUND' });
  });
});
