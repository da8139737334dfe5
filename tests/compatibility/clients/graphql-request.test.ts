import { ClientError, GraphQLClient } from 'graphql-request';
import { repeat } from '../support/attempts.ts';
import { CREATE, type CreatedPost, describeClient, NEWEST, type Posts } from '../support/client-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

describeClient({
  name: 'graphql-request',
  version: packageVersion('graphql-request'),
  checks: {
    query: WORKS,
    mutation: worksWith('`Idempotency-Key` in `requestHeaders`, and a loop around `request`'),
  },
  createDriver({ url, headers }) {
    const client = new GraphQLClient(url, { headers });
    return {
      newestTitles: async (limit) =>
        (await client.request<Posts>(NEWEST, { limit })).posts.map(({ title }) => title),
      codeOf: (error) =>
        error instanceof ClientError ? String(error.response.errors?.[0]?.extensions?.code) : undefined,
      async createPost(title, key) {
        const requestHeaders = { 'idempotency-key': key };
        const { createPost } = await repeat(() =>
          client.request<CreatedPost>({ document: CREATE, variables: { title }, requestHeaders }),
        );
        return createPost.id;
      },
    };
  },
});
