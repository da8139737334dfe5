import { ApolloClient, ApolloLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { cacheExchange, Client as UrqlClient } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';
import { parse } from 'graphql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { contentGraphLink } from '../../packages/client/src/adapters/apollo.ts';
import { contentGraphExchange } from '../../packages/client/src/adapters/urql.ts';
import { type Client, createClient } from '../../packages/client/src/index.ts';
import { failure, json, type StubReply, startStub } from '../support/client/service-stub.ts';

const QUERY = parse('query Titles { titles }');
const MUTATION = parse('mutation Create { create }');
const ID = 'the id of a document';
/** As graphql-codegen generates a document with `persistedDocuments`. */
const GENERATED = { ...parse('query Posts { post { title } }'), __meta__: { hash: 'without types' } };

/** Runs documents through a library that sends ids where `sendsIds` is true. Rejects with the errors of the library. */
type Connect = (
  client: Client,
  sendsIds?: boolean,
) => Record<'query' | 'mutate', (document: typeof QUERY) => Promise<unknown>>;

const connectUrql: Connect = (client, sendsIds = true) => {
  const ids = persistedExchange({ generateHash: async () => ID, enableForMutation: true });
  const exchanges = [cacheExchange, ...(sendsIds ? [ids] : []), contentGraphExchange(client)];
  const urql = new UrqlClient({ url: 'http://unused', exchanges, preferGetMethod: false });
  return {
    query: async (document) => (await urql.query(document, {}).toPromise()).data,
    mutate: async (document) => (await urql.mutation(document, {}).toPromise()).data,
  };
};

const connectApollo: Connect = (client, sendsIds = true) => {
  const ids = new PersistedQueryLink({ generateHash: () => ID });
  const link = sendsIds ? ApolloLink.from([ids, contentGraphLink(client)]) : contentGraphLink(client);
  const apollo = new ApolloClient({ cache: new InMemoryCache(), link });
  return {
    query: async (query) => (await apollo.query({ query })).data,
    mutate: async (mutation) => (await apollo.mutate({ mutation })).data,
  };
};

describe.each([
  ['urql', connectUrql],
  ['Apollo Client', connectApollo],
] as const)('Through %s', (_name, connect) => {
  const open = async (...replies: readonly StubReply[]) => {
    const stub = await startStub(...replies);
    const client = createClient({ url: stub.url });
    onTestFinished(() => client.close());
    return { stub, client };
  };

  it('a persisted query is sent by its id: a query by GET, a mutation by POST', async () => {
    const { stub, client } = await open(json({ data: { titles: ['A'] } }), json({ data: { create: true } }));
    const { query, mutate } = connect(client);
    expect(await query(QUERY)).toMatchObject({ titles: ['A'] });
    expect(await mutate(MUTATION)).toMatchObject({ create: true });
    const [read, written] = stub.requests;
    expect(read?.method).toBe('GET');
    expect(new URL(read?.path ?? '', stub.url).searchParams.get('documentId')).toBe(ID);
    expect(JSON.parse(written?.body ?? '')).toEqual({ documentId: ID, variables: {} });
  });

  it('an unknown id is followed by the document, as the library does', async () => {
    const { stub, client } = await open(
      failure('DOCUMENT_NOT_FOUND', 404),
      json({ data: { titles: ['A'] } }),
    );
    expect(await connect(client).query(QUERY)).toMatchObject({ titles: ['A'] });
    expect(stub.requests.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(JSON.parse(stub.requests[1]?.body ?? '')).toEqual({
      query: 'query Titles{titles}',
      variables: {},
    });
  });

  it('the id from graphql-codegen is not sent for a document to which the library has added __typename', async () => {
    const { stub, client } = await open(json({ data: { post: { __typename: 'Post', title: 'A' } } }));
    await connect(client, false).query(GENERATED);
    const { query } = JSON.parse(stub.requests[0]?.body ?? '');
    expect(query).toBe('query Posts{post{title __typename}}');
  });
});
