import { ApolloLink } from '@apollo/client';
import { useQuery, useSubscription } from '@apollo/client/react';
import { useMemo, useState } from 'react';
import { tap } from 'rxjs';
import { apply, CHANGES, POSTS } from './posts.ts';

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
  const [position, setPosition] = useState<string>();
  const reading = useMemo(
    () => ({
      headers: { 'x-show-event-id': '1' },
      // The stream follows the first page: it tells of all that the later ones have missed, too.
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
  const { error: ended } = useSubscription(CHANGES, {
    skip: position === undefined,
    context: following,
    onData({ client, data: { data: change } }) {
      if (change !== undefined) apply(client, change.changes);
    },
    // After a gap, the stream goes on behind it.
    onError: () => void refetch(),
  });

  const { edges = [], pageInfo } = data?.postsConnection ?? {};
  return {
    posts: edges.map(({ node }) => node),
    loading,
    hasMore: pageInfo?.hasNextPage ?? false,
    more: () => fetchMore({ variables: { after: pageInfo?.endCursor ?? null } }),
    error: error ?? ended,
  };
}
