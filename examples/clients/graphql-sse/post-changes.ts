import { type Client, createResumingFetch } from 'content-graph-client';
import { createClient } from 'graphql-sse';

export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** The current post. Null if the post was deleted. */
  readonly post: { readonly id: string; readonly title: string } | null;
}

const QUERY = `subscription {
  changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
}`;

/** Yields each change of a post until its reader leaves the loop. Throws if the service rejects the subscription. */
export async function* followPosts(
  client: Client,
  url: string,
  headers: Readonly<Record<string, string>>,
): AsyncGenerator<PostChange> {
  const events = createClient({ url, headers, fetchFn: createResumingFetch(client) });
  try {
    for await (const { data, errors } of events.iterate<{ changes: PostChange }>({ query: QUERY })) {
      if (errors !== undefined)
        throw new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
      if (data != null) yield data.changes;
    }
  } finally {
    events.dispose();
  }
}
