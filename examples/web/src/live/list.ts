import { type LiveList, type LiveQueryOptions, liveQuery, readConnection } from 'content-graph-client';
import {
  type Change,
  type Comment,
  CommentsQuery,
  type Post,
  PostQuery,
  PostsQuery,
} from '../api/operations.ts';
import type { Context } from '../screens/screen.ts';

/** Called before the page is rendered again, and once when the list is opened. */
type OnList<Item> = (list: LiveList<Item>) => void;

/** A list that stays true while it is open. */
export type List<Item extends object> = ReturnType<typeof openList<unknown, unknown, Item>>;

function openList<Data, Variables, Item extends object>(
  { client, changes, update, onSignedOut }: Context,
  options: LiveQueryOptions<Data, Variables, Item, Change>,
  onList?: OnList<Item>,
) {
  const live = liveQuery(changes, options);
  live.subscribe((list) => {
    if (list.error?.code === 'UNAUTHENTICATED') onSignedOut();
    onList?.(list);
    void update();
  });
  return {
    /** What is known now. */
    get current() {
      return live.current;
    },
    more: live.more,
    refresh: live.refresh,
    retry(): void {
      client.retry();
      // Where it was rejected for good, nothing else asks again.
      if (!live.current.isReading) void live.refresh();
    },
    close: live.close,
  };
}

/** The posts with a tag, or all. */
export function openPosts(
  context: Context,
  { tag, first }: { readonly tag: string | undefined; readonly first: number },
  onList: OnList<Post>,
): List<Post> {
  return openList(
    context,
    {
      document: PostsQuery,
      variables: (after) => ({ first, after, tag: tag ?? null }),
      list: ({ postsConnection }) => readConnection(postsConnection),
      changed: ({ postId, post }) => ({
        key: postId,
        item: post === null || tag === undefined || post.tags.includes(tag) ? post : null,
      }),
    },
    onList,
  );
}

/** One post: a list without items if it does not exist. */
export function openPost(context: Context, id: string, onList?: OnList<Post>): List<Post> {
  return openList(
    context,
    {
      document: PostQuery,
      variables: () => ({ id }),
      list: ({ post }) => ({ items: post === null ? [] : [post], more: null }),
      changed: ({ postId, post }) => (postId === id ? { key: id, item: post } : undefined),
    },
    onList,
  );
}

/** The comments on a post, newest first. */
export function openComments(
  context: Context,
  id: string,
  last: number,
  onList: OnList<Comment>,
): List<Comment> {
  return openList(
    context,
    {
      document: CommentsQuery,
      variables: (before) => ({ id, last, before }),
      list({ post }) {
        const { nodes = [], pageInfo } = post?.commentsConnection ?? {};
        return { items: nodes, more: pageInfo?.hasPreviousPage === true ? pageInfo.startCursor : null };
      },
      changed: ({ postId, commentId, comment }) =>
        postId === id && commentId !== null ? { key: commentId, item: comment } : undefined,
    },
    onList,
  );
}
