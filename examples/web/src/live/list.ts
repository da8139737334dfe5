import {
  compareNewestFirst,
  compareOldestFirst,
  type LiveList,
  type LiveQueryOptions,
  liveQuery,
  readConnection,
} from 'content-graph-client';
import {
  type Change,
  type Comment,
  CommentsQuery,
  type Draft,
  DraftQuery,
  type DraftSummary,
  DraftsQuery,
  type Post,
  PostQuery,
  PostsQuery,
  type Summary,
} from '../api/operations.ts';
import { ORDERS, type Order } from '../router.ts';
import type { Context } from '../screens/screen.ts';
import { watchReturns } from './returns.ts';

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

const compareLastUpdated = (one: DraftSummary | Summary, other: DraftSummary | Summary) =>
  other.updatedAt.localeCompare(one.updatedAt) || other.id.localeCompare(one.id);

const COMPARE = {
  newest: compareNewestFirst,
  oldest: compareOldestFirst,
  updated: compareLastUpdated,
} as const;

export interface PostSelection {
  readonly tag?: string | undefined;
  /** The id of a user. */
  readonly author?: string | undefined;
  readonly order: Order;
}

/** The posts with a tag, of a user, or all. */
export function openPosts(
  context: Context,
  { tag, author, order }: PostSelection,
  first: number,
  onList: OnList<Summary>,
): List<Summary> {
  const isListed = (post: Summary) =>
    (tag === undefined || post.tags.includes(tag)) && (author === undefined || post.author.id === author);
  return openList(
    context,
    {
      document: PostsQuery,
      variables: (after) => ({
        first,
        after,
        tag: tag ?? null,
        filter: author === undefined ? null : { author },
        orderBy: ORDERS[order].orderBy,
      }),
      list: ({ postsConnection }) => readConnection<Summary>(postsConnection),
      changed: ({ postId, post }) => ({ key: postId, item: post !== null && isListed(post) ? post : null }),
      order: COMPARE[order],
    },
    onList,
  );
}

/**
 * One post: a list without items if it does not exist.
 * @param name the slug of the post, a former slug, or its id
 */
export function openPost(context: Context, name: string, onList?: OnList<Post>): List<Post> {
  /** The slug of a post may change while the post is shown, so it is read again by its id. */
  let id: string | undefined;
  return openList(
    context,
    {
      document: PostQuery,
      variables: () => ({ slug: id ?? name }),
      list({ postBySlug: post }) {
        id ??= post?.id;
        return { items: post === null ? [] : [post], more: null };
      },
      changed: ({ postId, post }) => (postId === id ? { key: postId, item: post } : undefined),
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

/** Drafts have no events, so a list of drafts is read again when its reader returns to the page. */
function openDraftList<Data, Variables, Item extends DraftSummary>(
  context: Context,
  options: Omit<LiveQueryOptions<Data, Variables, Item, Change>, 'changed' | 'order'>,
  onList?: OnList<Item>,
): List<Item> {
  const list = openList(context, { ...options, changed: () => undefined, order: compareLastUpdated }, onList);
  const stop = watchReturns(() => void list.refresh());
  return {
    ...list,
    get current() {
      return list.current;
    },
    close() {
      stop();
      list.close();
    },
  };
}

/** The drafts of the user, last changed first. */
export function openDrafts(context: Context, first: number): List<DraftSummary> {
  return openDraftList(context, {
    document: DraftsQuery,
    variables: (after) => ({ first, after }),
    list: ({ viewer }) => readConnection<DraftSummary>(viewer.draftsConnection),
  });
}

/** One draft: a list without items if it does not exist. */
export function openDraft(context: Context, id: string, onList: OnList<Draft>): List<Draft> {
  return openDraftList(
    context,
    {
      document: DraftQuery,
      variables: () => ({ id }),
      list: ({ node }) => ({ items: node?.__typename === 'Draft' ? [node] : [], more: null }),
    },
    onList,
  );
}
