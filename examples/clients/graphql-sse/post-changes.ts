import { createClient } from 'graphql-sse';
import { createResumingFetch, type StreamState } from '../../resuming-fetch.ts';

/** What has happened to a post. */
export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** As it is now; null if it is gone. */
  readonly post: { readonly id: string; readonly title: string } | null;
}

const QUERY = `subscription {
  changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
}`;

/**
 * Yields each change of a post until the loop that reads it is left. Throws if the service ends the stream for good. The
 * headers authenticate: `{ authorization: 'Bearer …' }`. `onState` tells whether the stream is connected.
 */
export async function* postChanges(
  url: string,
  headers: Readonly<Record<string, string>>,
  onState?: (state: StreamState) => void,
): AsyncGenerator<PostChange> {
  const client = createClient({ url, headers, fetchFn: createResumingFetch({ onState }) });
  try {
    for await (const { data, errors } of client.iterate<{ changes: PostChange }>({ query: QUERY })) {
      if (errors !== undefined)
        throw new AggregateError(errors, errors.map(({ message }) => message).join('\n'));
      if (data != null) yield data.changes;
    }
  } finally {
    client.dispose();
  }
}
