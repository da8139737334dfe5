import { type ApolloClient, gql, type TypedDocumentNode } from '@apollo/client';
import type { Observable } from 'rxjs';

export interface Post {
  readonly __typename: 'Post';
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
}

/** What has happened to a post. */
export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** As it is now; null if it is gone. */
  readonly post: Post | null;
}

interface Page {
  readonly postsConnection: {
    readonly edges: readonly {
      readonly __typename: 'PostEdge';
      readonly cursor: string;
      readonly node: Post;
    }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

// Written as calls, not as tagged templates, `gql.tada check` compares the documents with the schema.
export const POSTS: TypedDocumentNode<Page, { first: number; after?: string | null }> = gql(`
  query Posts($first: Int!, $after: String) {
    postsConnection(first: $first, after: $after) {
      edges {
        cursor
        node {
          id
          title
          createdAt
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

export const POST: TypedDocumentNode<{ readonly post: Post | null }, { id: string }> = gql(`
  query Post($id: ID!) {
    post(id: $id) {
      id
      title
      createdAt
    }
  }
`);

const CREATE_POST: TypedDocumentNode<{ readonly createPost: Post }, { title: string; body: string }> = gql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) {
      id
      title
      createdAt
    }
  }
`);

export const CHANGES: TypedDocumentNode<{ readonly changes: PostChange }, Record<string, never>> = gql(`
  subscription PostChanges {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) {
      kind
      postId
      post {
        id
        title
        createdAt
      }
    }
  }
`);

/** Creates a post, once for each key. Without a key, each call is a task of its own. */
export async function createPost(
  client: ApolloClient,
  title: string,
  body: string,
  idempotencyKey?: string,
): Promise<Post> {
  const context =
    idempotencyKey === undefined ? {} : { headers: { 'idempotency-key': `"${idempotencyKey}"` } };
  const { data } = await client.mutate({ mutation: CREATE_POST, variables: { title, body }, context });
  if (data == null) throw new Error('a mutation without errors has data');
  return data.createPost;
}

/** The ids of one millisecond are in order too. */
const rankOf = ({ createdAt, id }: Post) => `${createdAt}${id}`;

/**
 * The list in the cache with a post where it belongs, newest first. Does nothing where it is in the list, or further down
 * than was read: its page brings it.
 */
export function insert(client: ApolloClient, post: Post): void {
  client.cache.updateQuery({ query: POSTS }, (page) => {
    if (page === null || page.postsConnection.edges.some(({ node }) => node.id === post.id)) return page;
    const { edges, pageInfo } = page.postsConnection;
    const older = edges.findIndex(({ node }) => rankOf(node) < rankOf(post));
    if (older === -1 && pageInfo.hasNextPage && edges.length > 0) return page;
    // Cursors are opaque: this one is never sent. The next page begins at `endCursor`.
    const edge = { __typename: 'PostEdge' as const, cursor: '', node: post };
    return {
      postsConnection: { pageInfo, edges: edges.toSpliced(older === -1 ? edges.length : older, 0, edge) },
    };
  });
}

/** Takes a post out of the cache, and so out of all lists, with what only it has led to, such as its comments. */
function forget(client: ApolloClient, postId: string): void {
  const id = client.cache.identify({ __typename: 'Post', id: postId });
  if (id !== undefined) client.cache.evict({ id });
  client.cache.gc();
}

/** Brings the cache up to date. An edit needs nothing: the subscription has put the post into the cache. */
export function apply(client: ApolloClient, { kind, postId, post }: PostChange): void {
  if (kind === 'POST_DELETED') forget(client, postId);
  else if (kind === 'POST_CREATED' && post !== null) insert(client, post);
}

/** A change, or an `error` that either ends the stream or tells of a gap (EVENT_HISTORY_EXPIRED). */
export type PostChanged = ApolloClient.SubscribeResult<{ readonly changes: PostChange }>;

/** Each change of a post. */
export function postChanges(client: ApolloClient): Observable<PostChanged> {
  return client.subscribe({ query: CHANGES });
}
