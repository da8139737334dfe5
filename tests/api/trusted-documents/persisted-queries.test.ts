import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { dataOf, expectRejected } from '../../support/rejection.ts';
import { NO_FAST_PATH, useSocket } from '../../support/socket.ts';
import { askMembers, published, retire } from '../../support/trusted-documents.ts';

const QUERY = '{ viewer { name } }';
const sha256Hash = createHash('sha256').update(QUERY).digest('hex');
const hash = (value = sha256Hash) => ({ extensions: { persistedQuery: { version: 1, sha256Hash: value } } });

const NOT_FOUND = { code: 'PERSISTED_QUERY_NOT_FOUND', message: /^PersistedQueryNotFound$/ };
const NOT_SUPPORTED = { code: 'PERSISTED_QUERY_NOT_SUPPORTED', message: /^PersistedQueryNotSupported$/ };
const ACCEPTED = [
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.9',
  'text/event-stream',
];

/** A client of Apollo's protocol: it sends the hash, and the query if the response asks for the query. */
function apolloClient(app: Pick<TestApp, 'fetch'>, key: string) {
  let enabled = true;
  let requests = 0;
  const send = (members: object) => {
    requests += 1;
    return askMembers(app, { ...members }, { key });
  };
  return {
    get requests() {
      return requests;
    },
    async query() {
      if (!enabled) return send({ query: QUERY });
      const response = await send(hash());
      const messages = (response.errors ?? []).map(({ message }) => message);
      if (messages.includes('PersistedQueryNotSupported')) enabled = false;
      else if (!messages.includes('PersistedQueryNotFound')) return response;
      return send(enabled ? { query: QUERY, ...hash() } : { query: QUERY });
    },
  };
}

describe.each([
  ['the fast path', {}],
  ['Yoga', { fastPath: NO_FAST_PATH }],
])('Where any document may run and none was ever published, by %s', (_path, options) => {
  const app = useApp();
  const socket = useSocket(app, options);
  const caller = useAccount(app, { name: 'Ada' });

  it('a client of Apollo sends one request for each query after the first', async () => {
    const client = apolloClient(socket, caller.key);
    for (const requests of [2, 3, 4]) {
      expect(dataOf(await client.query())).toEqual({ viewer: { name: 'Ada' } });
      expect(client.requests).toBe(requests);
    }
  });

  it.each(ACCEPTED)('a hash has status 200 and PERSISTED_QUERY_NOT_SUPPORTED for %s', async (accept) => {
    for (const method of ['GET', 'POST'] as const) {
      const response = await askMembers(socket, hash(), { key: caller.key, method, headers: { accept } });
      expectRejected(response, NOT_SUPPORTED);
      expect(response.headers.get('cache-control')).toMatch(/^no-store/);
    }
  });

  it('a document by `documentId` is 404, also beside the hash', async () => {
    for (const members of [{ documentId: sha256Hash }, { documentId: sha256Hash, ...hash() }])
      expectRejected(await askMembers(socket, members, { key: caller.key }), {
        code: 'DOCUMENT_NOT_FOUND',
        status: 404,
      });
  });
});

describe('A hash that is not published', () => {
  const app = useApp();
  const off = useApp({ settings: { TRUSTED_DOCUMENTS: 'off' } });
  const required = useApp({ settings: { TRUSTED_DOCUMENTS: 'required' } });

  it.each(ACCEPTED)('is PERSISTED_QUERY_NOT_FOUND once a document was published, for %s', async (accept) => {
    const { key } = await app.account();
    const other = await published(app, QUERY);
    const ask = () => askMembers(app, hash('f'.repeat(64)), { key, headers: { accept } });
    expectRejected(await ask(), NOT_FOUND);
    await retire(app, other);
    expectRejected(await ask(), NOT_FOUND);
  });

  it('is PERSISTED_QUERY_NOT_FOUND where only published documents may run, though none is', async () => {
    const { key } = await required.account();
    expectRejected(await askMembers(required, hash(), { key }), NOT_FOUND);
  });

  it('is PERSISTED_QUERY_NOT_SUPPORTED where ids are off', async () => {
    const { key } = await off.account();
    expectRejected(await askMembers(off, hash(), { key }), NOT_SUPPORTED);
  });

  it('is PERSISTED_QUERY_NOT_SUPPORTED if no document can have it', async () => {
    const { key } = await app.account();
    for (const value of ['', 'é', 'x'.repeat(129)])
      expectRejected(await askMembers(app, hash(value), { key }), NOT_SUPPORTED);
  });

  it('is 401 without credentials', async () => {
    expectRejected(await askMembers(app, hash()), { code: 'UNAUTHENTICATED', status: 401 });
  });
});
