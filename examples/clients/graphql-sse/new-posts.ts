import { createClient } from 'graphql-sse';
import { resumingFetch } from '../../resuming-fetch.ts';

export interface Post {
  readonly id: string;
  readonly title: string;
}

/**
 * Yields each new post until the loop that reads it is left. Throws if the service ends the stream for good. The
 * headers authenticate: `{ authorization: 'Bearer …' }`.
 */
export async function* newPosts(
  url: string,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<Post> {
  const client = createClient({ url, headers, fetchFn: resumingFetch });
  const query = 'subscription { postCreated { id title } }';
  try {
    for await (const { data, errors } of client.iterate<{ postCreated: Post }>({ query })) {
      if (errors !== undefined)
        throw new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
      if (data != null) yield data.postCreated;
    }
  } finally {
    client.dispose();
  }
}
