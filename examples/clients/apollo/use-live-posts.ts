import { ApolloLink } from '@apollo/client';
import { useApolloClient, useQuery, useSubscription } from '@apollo/client/react';
import { useMemo, useRef, useState } from 'react';
import { tap } from 'rxjs';
import { apply, CHANGES, POST, POSTS, type PostChange } from './posts.ts';

/** Tells the position at which a query was answered to whoever asks for it, in the context of the operation. */
export const eventPositions = new ApolloLink((operation, forward) => {
  const { onEventId } = operation.getContext();
  return forward(operation).pipe(
    tap(({ extensions }) => {
      if (typeof onEventId === 'function' && extensions?.eventId !== undefined) onEventId(extensions.eventId);
    }),
  );
});

/** The newest posts, read page by page, with every change since. */
export function useLivePosts() {
  const client = useApolloClient();
  /** What the stream tells while something is read: the answer may be older. */
  const late = useRef(new Set<PostChange[]>());
  const [position, setPosition] = useState<string>();
  const reading = useMemo(
    () => ({
      headers: { 'x-show-event-id': '1' },
      // The stream follows the first page.
      onEventId: (id: string) => setPosition((first) => first ?? id),
    }),
    [],
  );
  const { data, loading, error, fetchMore, refetch } = useQuery(POSTS, {
    variables: { first: 20 },
    // What is in the cache has no position to follow from.
    fetchPolicy: 'network-only',
    nextFetchPolicy: 'cache-first',
    context: reading,
  });
  const following = useMemo(() => ({ headers: { 'last-event-id': position } }), [position]);
  /** Reads, and shows once more what was told meanwhile. */
  async function read(ask: () => Promise<unknown>): Promise<void> {
    const told: PostChange[] = [];
    late.current.add(told);
    try {
      await ask();
    } finally {
      late.current.delete(told);
    }
    for (const change of told) {
      const { post, postId: id } = change;
      if (post !== null) client.writeQuery({ query: POST, variables: { id }, data: { post } });
      apply(client, change);
    }
  }
  const { error: ended } = useSubscription(CHANGES, {
    skip: position === undefined,
    context: following,
    onData({ data: { data: change } }) {
      if (change === undefined) return;
      apply(client, change.changes);
      for (const told of late.current) told.push(change.changes);
    },
    // After a gap, the stream goes on behind it.
    onError: () => void read(refetch),
  });

  const { edges = [], pageInfo } = data?.postsConnection ?? {};
  return {
    posts: edges.map(({ node }) => node),
    loading,
    hasMore: pageInfo?.hasNextPage ?? false,
    more: () => read(() => fetchMore({ variables: { after: pageInfo?.endCursor ?? null } })),
    error: error ?? ended,
  };
}
