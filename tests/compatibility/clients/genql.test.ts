import { repeat } from '../support/attempts.ts';
import { describeClient } from '../support/client-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';
import { createClient, GenqlError } from './genql/generated/index.ts';

describeClient({
  name: 'genql',
  version: packageVersion('@genql/cli'),
  checks: {
    query: WORKS,
    mutation: worksWith('`Idempotency-Key` in `headers`, and a loop around `mutation`'),
  },
  createDriver({ url, headers }) {
    const client = createClient({ url, headers });
    return {
      newestTitles: async (limit) =>
        (await client.query({ posts: { __args: { limit }, title: true } })).posts.map(({ title }) => title),
      codeOf: (error) =>
        error instanceof GenqlError ? String(error.errors[0]?.extensions?.code) : undefined,
      async createPost(title, key) {
        const keyed = createClient({ url, headers: { ...headers, 'idempotency-key': key } });
        const { createPost } = await repeat(() =>
          keyed.mutation({ createPost: { __args: { title, body: 'Body' }, id: true } }),
        );
        return createPost.id;
      },
    };
  },
});
