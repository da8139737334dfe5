import type { TadaDocumentNode } from 'gql.tada';
import { ClientError, GraphQLClient } from 'graphql-request';
import { repeat } from '../support/attempts.ts';
import { describeClient } from '../support/client-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';
import { graphql } from './gql-tada/graphql.ts';

const NEWEST = graphql(`
  query Newest($limit: Int!) {
    posts(limit: $limit) { id title createdAt }
  }
`);

const CREATE = graphql(`
  mutation Create($title: String!) {
    createPost(title: $title, body: "Body") { id }
  }
`);

describeClient({
  name: 'gql.tada with graphql-request',
  version: packageVersion('gql.tada'),
  checks: {
    query: WORKS,
    mutation: worksWith('the settings of graphql-request'),
  },
  createDriver({ url, headers }) {
    const client = new GraphQLClient(url, { headers });
    const run = <Data, Variables extends object>(
      document: TadaDocumentNode<Data, Variables>,
      variables: Variables,
      requestHeaders = {},
    ): Promise<Data> => client.request<Data>({ document, variables, requestHeaders });
    return {
      newestTitles: async (limit) => (await run(NEWEST, { limit })).posts.map(({ title }) => title),
      codeOf: (error) =>
        error instanceof ClientError ? String(error.response.errors?.[0]?.extensions?.code) : undefined,
      createPost: async (title, key) =>
        (await repeat(() => run(CREATE, { title }, { 'idempotency-key': key }))).createPost.id,
    };
  },
});
