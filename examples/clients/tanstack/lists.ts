import { useInfiniteQuery } from '@tanstack/react-query';
import { readConnection } from 'content-graph-client';
import { livePages } from 'content-graph-client/tanstack';
import type { ResultOf } from 'gql.tada';
import { useConnection } from './live-provider.tsx';
import { type Change, Comments, Posts } from './operations.ts';

/** All posts, newest first. */
export function usePosts() {
  const { cache } = useConnection();
  return useInfiniteQuery({
    ...livePages(cache, {
      document: Posts,
      variables: (after) => ({ first: 10, after }),
      list: ({ postsConnection }: ResultOf<typeof Posts>) => readConnection(postsConnection),
      changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
    }),
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
}

/** The comments on a post, newest first. The connection has the newest comments at its end. */
export function useComments(id: string) {
  const { cache } = useConnection();
  return useInfiniteQuery({
    ...livePages(cache, {
      document: Comments,
      variables: (before) => ({ id, last: 5, before }),
      list({ post }: ResultOf<typeof Comments>) {
        if (post === null) return { items: [], more: null };
        const { nodes, pageInfo } = post.commentsConnection;
        return { items: nodes.toReversed(), more: pageInfo.hasPreviousPage ? pageInfo.startCursor : null };
      },
      changed: ({ postId, commentId, comment }: Change) =>
        postId === id && commentId !== null ? { key: commentId, item: comment } : undefined,
    }),
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  });
}
