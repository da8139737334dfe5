import { print } from '@0no-co/graphql.web';
import type { TadaPersistedDocumentNode } from 'gql.tada';
import { type LiveList, liveQuery } from '../../../live.ts';
import {
  type Change,
  type Comment,
  CommentsQuery,
  type Post,
  PostQuery,
  PostsQuery,
} from '../api/operations.ts';
import type { Problem } from '../api/problem.ts';
import type { Context } from '../screens/screen.ts';
import { problemOfList } from './live-status.ts';

interface Item {
  readonly id: string;
  readonly createdAt: string;
}

interface ListOptions<Data, Variables, Of extends Item> {
  readonly document: TadaPersistedDocumentNode<Data, Variables>;
  readonly variables: (after: string | null) => Variables & Readonly<Record<string, unknown>>;
  readonly list: (data: Data) => { readonly items: readonly Of[]; readonly more: string | null };
  readonly changed: (change: Change) => { readonly key: string; readonly item: Of | null } | undefined;
  /** Called before the page is rendered again. */
  readonly onList?: (list: LiveList<Of>) => void;
}

/** A list that stays true while it is open. */
export interface List<Of> extends LiveList<Of> {
  readonly problem: Problem | undefined;
  more(): Promise<void>;
  refresh(): Promise<void>;
  retry(): void;
  close(): void;
}

/** Newest first, as the service sorts (docs/contract.md section 1). Ids are UUIDv7 and break ties. */
function byAge(one: Item, other: Item): number {
  if (one.createdAt !== other.createdAt) return one.createdAt < other.createdAt ? 1 : -1;
  return one.id < other.id ? 1 : -1;
}

function openList<Data, Variables, Of extends Item>(
  { changes, update, onSignedOut }: Context,
  { document, onList = () => undefined, ...options }: ListOptions<Data, Variables, Of>,
): List<Of> {
  let list: LiveList<Of> = { items: undefined, hasMore: false, isReading: true, connectionError: undefined };
  let problem: Problem | undefined;
  const live = liveQuery<Data, Of, Change>({
    ...options,
    changes,
    query: print(document),
    documentId: document.documentId,
    key: ({ id }) => id,
    order: byAge,
    onList(next) {
      if (next.connectionError !== list.connectionError)
        problem = next.connectionError === undefined ? undefined : problemOfList(next.connectionError);
      list = next;
      if (problem?.kind === 'signed-out') onSignedOut();
      onList(next);
      void update();
    },
  });
  return {
    get items() {
      return list.items;
    },
    get hasMore() {
      return list.hasMore;
    },
    get isReading() {
      return list.isReading;
    },
    get connectionError() {
      return list.connectionError;
    },
    get problem() {
      return problem;
    },
    more: live.more,
    refresh: live.refresh,
    retry() {
      changes.retry();
      // Where it was refused for good, nothing else asks again.
      if (list.connectionError?.status === 'closed') void live.refresh();
    },
    close: live.close,
  };
}

/** The posts with a tag, or all. */
export function openPosts(
  context: Context,
  { tag, first, onList }: { tag: string | undefined; first: number; onList: (list: LiveList<Post>) => void },
): List<Post> {
  return openList(context, {
    document: PostsQuery,
    variables: (after) => ({ first, after, tag: tag ?? null }),
    list: ({ postsConnection: { nodes, pageInfo } }) => ({
      items: nodes,
      more: pageInfo.hasNextPage ? pageInfo.endCursor : null,
    }),
    changed: ({ postId, post }) => ({
      key: postId,
      item: post === null || tag === undefined || post.tags.includes(tag) ? post : null,
    }),
    onList,
  });
}

/** One post: a list without items if it does not exist. */
export function openPost(context: Context, id: string, onList?: (list: LiveList<Post>) => void): List<Post> {
  return openList(context, {
    document: PostQuery,
    variables: () => ({ id }),
    list: ({ post }) => ({ items: post === null ? [] : [post], more: null }),
    changed: ({ postId, post }) => (postId === id ? { key: id, item: post } : undefined),
    ...(onList === undefined ? {} : { onList }),
  });
}

/** The comments on a post, newest first. */
export function openComments(
  context: Context,
  id: string,
  last: number,
  onList: (list: LiveList<Comment>) => void,
): List<Comment> {
  return openList(context, {
    onList,
    document: CommentsQuery,
    variables: (before) => ({ id, last, before }),
    list({ post }) {
      const { nodes = [], pageInfo } = post?.commentsConnection ?? {};
      return { items: nodes, more: pageInfo?.hasPreviousPage === true ? pageInfo.startCursor : null };
    },
    changed: ({ postId, commentId, comment }) =>
      postId === id && commentId !== null ? { key: commentId, item: comment } : undefined,
  });
}
