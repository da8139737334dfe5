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
  SearchQuery,
  type Summary,
  type Tag,
  TagsQuery,
} from '../api/operations.ts';
import { ORDERS, type Order } from '../router.ts';
import type { Context } from '../screens/screen.ts';
import { watchReturns } from './returns.ts';

/** What a list needs of the page. */
export type ListContext = Pick<Context, 'client' | 'changes' | 'update' | 'onSignedOut'>;

/** Called before the page is rendered again, and once when the list is opened. */
type OnList<Item> = (list: LiveList<Item>) => void;

interface ListBehaviour<Item> {
  readonly onList?: OnList<Item> | undefined;
  /** The number of items that are read at a time, also where the pages of the service are shorter. */
  readonly first?: number;
  /** Calls a function whenever the list may be out of date. Returns a function that stops it. */
  readonly watch?: (onStale: () => void) => () => void;
}

/** A list that stays true while it is open. */
export type List<Item extends object> = ReturnType<typeof openList<unknown, unknown, Item>>;

function openList<Data, Variables, Item extends object>(
  { client, changes, update, onSignedOut }: ListContext,
  options: LiveQueryOptions<Data, Variables, Item, Change>,
  { onList, first = 0, watch }: ListBehaviour<Item> = {},
) {
  const live = liveQuery(changes, options);
  let wanted = first;

  /** Reads on after a short page. */
  function fill({ items, hasMore, isReading, error }: LiveList<Item>): void {
    if (items === undefined || isReading || error !== undefined) return;
    if (hasMore && items.length < Math.max(wanted, 1)) void live.more();
    else wanted = 0;
  }

  live.subscribe((list) => {
    if (list.error?.code === 'UNAUTHENTICATED') onSignedOut();
    onList?.(list);
    fill(list);
    void update();
  });
  const stop = watch?.(live.refresh);
  return {
    /** What is known now. */
    get current() {
      return live.current;
    },
    more(): Promise<void> {
      wanted = (live.current.items?.length ?? 0) + first;
      return live.more();
    },
    refresh: live.refresh,
    retry(): void {
      client.retry();
      // Where it was rejected for good, nothing else asks again.
      if (!live.current.isReading) void live.refresh();
    },
    close(): void {
      stop?.();
      live.close();
    },
  };
}

const INDEX_LAG_MS = 1_500;

/** The search index follows a change within about a second, so what comes from the index is read after it, and again. */
const watchIndex =
  ({ changes }: ListContext): NonNullable<ListBehaviour<never>['watch']> =>
  (onStale) => {
    const stop = new AbortController();
    let left = 0;
    const onChange = ({ commentId }: Change) => {
      if (commentId === null) left = 2;
    };
    changes.follow({ onChange, onMissedEvents: () => undefined }, stop.signal);
    const timer = setInterval(() => {
      if (left > 0) onStale();
      left -= 1;
    }, INDEX_LAG_MS);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  };

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
  /** Empty if nothing is searched for. */
  readonly query: string;
}

/** The last word of a search may not be finished. The service takes the beginnings of words from three letters. */
const withOpenEnd = (query: string) => (/[\p{L}\p{N}\p{M}]{3}$/u.test(query) ? `${query}*` : query);

/** The posts with a tag, of a user, that a search finds, or all. */
export function openPosts(
  context: Context,
  { tag, author, order, query }: PostSelection,
  first: number,
  onList: OnList<Summary>,
): List<Summary> {
  const isListed = (post: Summary) =>
    (tag === undefined || post.tags.includes(tag)) && (author === undefined || post.author.id === author);
  const change = ({ postId, post }: Change) => ({
    key: postId,
    item: post !== null && isListed(post) ? post : null,
  });
  if (query === '')
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
        changed: change,
        order: COMPARE[order],
      },
      { onList, first },
    );
  const filter = { author: author ?? null, tags: tag === undefined ? null : [tag] };
  const found: List<Summary> = openList(
    context,
    {
      document: SearchQuery,
      variables: (after) => ({ query: withOpenEnd(query), filter, first, after }),
      list: ({ searchPosts }) => readConnection<Summary>(searchPosts),
      // Only the index knows what else is found.
      changed: (event) =>
        found.current.items?.some(({ id }) => id === event.postId) === true ? change(event) : undefined,
    },
    { onList, first, watch: watchIndex(context) },
  );
  return found;
}

/** The tags with the most posts first. */
export const openTags = (context: ListContext): List<Tag> =>
  openList(
    context,
    {
      document: TagsQuery,
      variables: (after) => ({ after }),
      list: ({ tags }) => readConnection<Tag>(tags),
      changed: () => undefined,
      key: ({ name }) => name,
      order: (one, other) => other.postCount - one.postCount || (one.name < other.name ? -1 : 1),
    },
    { watch: watchIndex(context) },
  );

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
    { onList },
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
    { onList },
  );
}

/** Drafts have no events, so a list of drafts is read again when its reader returns to the page. */
const openDraftList = <Data, Variables, Item extends DraftSummary>(
  context: Context,
  options: Omit<LiveQueryOptions<Data, Variables, Item, Change>, 'changed' | 'order'>,
  onList?: OnList<Item>,
): List<Item> =>
  openList(
    context,
    { ...options, changed: () => undefined, order: compareLastUpdated },
    { onList, watch: watchReturns },
  );

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
