import { useApolloClient, useQuery, useSubscription } from '@apollo/client/react';
import { useMemo, useRef, useState } from 'react';
import { applyChange, CHANGES, POST, POSTS, type PostChange } from './posts.ts';

/** Reads the newest posts page by page, and shows every change since. */
export function useLivePosts() {
  const client = useApolloClient();
  /** Changes that arrive during a read: its result may be older. */
  const late = useRef(new Set<PostChange[]>());
  const [position, setPosition] = useState<string>();
  // The stream begins after the event that the first page shows.
  const reading = useMemo(() => ({ onEventId: (id: string) => setPosition((first) => first ?? id) }), []);
  const following = useMemo(() => ({ after: position }), [position]);
  const { data, loading, error, fetchMore, refetch } = useQuery(POSTS, {
    variables: { first: 20 },
    // A result from the cache has no event id to follow from.
    fetchPolicy: 'network-only',
    nextFetchPolicy: 'cache-first',
    context: reading,
  });

  /** Reads, then applies the changes that arrived during the read. */
  async function readPosts(read: () => Promise<unknown>): Promise<void> {
    const arrived: PostChange[] = [];
    late.current.add(arrived);
    try {
      await read();
    } finally {
      late.current.delete(arrived);
    }
    for (const change of arrived) {
      const { post, postId: id } = change;
      if (post !== null) client.writeQuery({ query: POST, variables: { id }, data: { post } });
      applyChange(client, change);
    }
  }

  const { error: streamError } = useSubscription(CHANGES, {
    skip: position === undefined,
    context: following,
    onData({ data: { data: change } }) {
      if (change === undefined) return;
      applyChange(client, change.changes);
      for (const arrived of late.current) arrived.push(change.changes);
    },
    // Events are lost. The stream continues after them.
    onError: () => void readPosts(refetch),
  });

  const { edges = [], pageInfo } = data?.postsConnection ?? {};
  return {
    posts: edges.map(({ node }) => node),
    loading,
    hasMore: pageInfo?.hasNextPage ?? false,
    more: () => readPosts(() => fetchMore({ variables: { after: pageInfo?.endCursor ?? null } })),
    error: error ?? streamError,
  };
}
