import { useEffect, useMemo, useReducer, useState } from 'react';
import { gql, type TypedDocumentNode, useQuery, useSubscription } from 'urql';

export interface Post {
  readonly id: string;
  readonly title: string;
  readonly commentCount: number;
  readonly createdAt: string;
}

interface Page {
  readonly postsConnection: {
    readonly nodes: readonly Post[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

/** What has happened to a post, or to its comments. */
interface Change {
  readonly kind: string;
  readonly postId: string;
  /** As it is now; null if it is gone. */
  readonly post: Post | null;
}

const POSTS: TypedDocumentNode<Page, { after: string | null }> = gql(`
  query LivePosts($after: String) {
    postsConnection(first: 20, after: $after) {
      nodes { id title commentCount createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

const CHANGES: TypedDocumentNode<{ changes: Change }, Record<string, never>> = gql(`
  subscription LivePostChanges {
    changes { kind postId post { id title commentCount createdAt } }
  }
`);

/** Those of the client: urql replaces its headers by those of an operation. */
type Headers = Readonly<Record<string, string>>;
const NONE: Headers = {};

const contextOf = (headers: Headers) => ({ fetchOptions: { credentials: 'include', headers } }) as const;

/** What the stream has told: the posts as they are now, and which of them are new. */
interface Told {
  readonly latest: ReadonlyMap<string, Post | null>;
  readonly created: ReadonlySet<string>;
}

const NOTHING: Told = { latest: new Map(), created: new Set() };

const withChange = (
  { latest, created }: Told = NOTHING,
  { changes: { kind, postId, post } }: { changes: Change },
): Told => ({
  latest: new Map(latest).set(postId, post),
  created: kind === 'POST_CREATED' ? new Set(created).add(postId) : created,
});

const withPage = (known: ReadonlyMap<string, Post>, nodes: readonly Post[]) =>
  new Map([...known, ...nodes.map((node) => [node.id, node] as const)]);

/** Newest first. The ids of one millisecond are in order too. */
const newestFirst = (one: Post, other: Post) =>
  one.createdAt + one.id < other.createdAt + other.id ? 1 : -1;

/**
 * The newest posts, read page by page, with every change since. After `error`, mount anew to read anew. The headers
 * authenticate, if there is no cookie: one object for the lifetime of the page.
 */
export function useLivePosts(headers = NONE) {
  // The response then has the position from which to follow what it has read.
  const reading = useMemo(() => contextOf({ ...headers, 'x-show-event-id': '1' }), [headers]);
  const [after, setAfter] = useState<string | null>(null);
  const [read, addPage] = useReducer(withPage, new Map<string, Post>());
  const [position, setPosition] = useState<string>();
  const [{ data, extensions, fetching, error }] = useQuery({
    query: POSTS,
    variables: { after },
    requestPolicy: 'network-only',
    context: reading,
  });
  useEffect(() => {
    if (data === undefined) return;
    addPage(data.postsConnection.nodes);
    // The stream follows the first page: it tells of all that the later ones have missed, too.
    setPosition((first) => first ?? (extensions?.eventId as string | undefined));
  }, [data, extensions]);

  const following = useMemo(
    () => contextOf({ ...headers, 'last-event-id': position ?? '' }),
    [headers, position],
  );
  const [{ data: told = NOTHING, error: ended }] = useSubscription(
    { query: CHANGES, variables: {}, pause: position === undefined, context: following },
    withChange,
  );

  const posts = useMemo(() => {
    const ids = new Set([...told.created, ...read.keys()]);
    const now = [...ids].map((id) => (told.latest.has(id) ? told.latest.get(id) : read.get(id)));
    return now.filter((post) => post != null).sort(newestFirst);
  }, [told, read]);
  const { hasNextPage = false, endCursor = null } = data?.postsConnection.pageInfo ?? {};
  return { posts, fetching, hasMore: hasNextPage, more: () => setAfter(endCursor), error: ended ?? error };
}
