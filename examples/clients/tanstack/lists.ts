import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import type { ReadOptions } from './live-cache.ts';
import { useConnection } from './live-provider.tsx';
import { type Change, type Comment, Comments, type Post, Posts } from './operations.ts';
import { byAge, type Item, type Page, type Pages, withItem } from './pages.ts';

const FIRST: string | null = null;

interface ListOptions<Of extends Item> {
  readonly queryKey: QueryKey;
  readonly read: (after: string | null, options: ReadOptions) => Promise<Page<Of>>;
  /** What a change does to the list: the item as it is now, null if it is gone, undefined if it does not touch the list. */
  readonly changed: (change: Change) => { readonly id: string; readonly item: Of | null } | undefined;
}

function useList<Of extends Item>({ queryKey, read, changed }: ListOptions<Of>) {
  const { cache } = useConnection();
  return useInfiniteQuery({
    queryKey,
    initialPageParam: FIRST,
    queryFn: ({ pageParam, signal }) => read(pageParam, { queryKey, signal }),
    getNextPageParam: ({ more }: Page<Of>) => more,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
    meta: {
      onChange(change) {
        const found = changed(change);
        if (found === undefined) return;
        cache.client.setQueryData<Pages<Of>>(
          queryKey,
          (list) => list && withItem(list, found.id, found.item),
        );
      },
    },
  });
}

/** All posts, newest first. */
export function usePosts() {
  const { cache } = useConnection();
  return useList<Post>({
    queryKey: ['posts'],
    async read(after, options) {
      const { postsConnection } = await cache.read(Posts, { first: 10, after }, options);
      const { nodes, pageInfo } = postsConnection;
      return { items: nodes, more: pageInfo.hasNextPage ? pageInfo.endCursor : null };
    },
    changed: ({ postId, post }) => ({ id: postId, item: post }),
  });
}

/** The comments on a post, newest first. */
export function useComments(id: string) {
  const { cache } = useConnection();
  return useList<Comment>({
    queryKey: ['comments', id],
    async read(before, options) {
      const { post } = await cache.read(Comments, { id, last: 5, before }, options);
      if (post === null) return { items: [], more: null };
      const { nodes, pageInfo } = post.commentsConnection;
      return { items: nodes.toSorted(byAge), more: pageInfo.hasPreviousPage ? pageInfo.startCursor : null };
    },
    changed: ({ postId, commentId, comment }) =>
      postId === id && commentId !== null ? { id: commentId, item: comment } : undefined,
  });
}
