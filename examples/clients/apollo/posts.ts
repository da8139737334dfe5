import { type ApolloClient, gql, type TypedDocumentNode } from '@apollo/client';
import type { Observable } from 'rxjs';

export interface Post {
  readonly __typename: 'Post';
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
}

export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** The current post. Null if the post was deleted. */
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

// `gql.tada check` compares documents with the schema if they are calls, not tagged templates.
export const POSTS: TypedDocumentNode<Page, { first: number; after?: string | null }> = gql(`
  query Posts($first: Int!, $after: String) {
    postsConnection(first: $first, after: $after) {
      edges {
        cursor
        node { id title createdAt }
      }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

export const POST: TypedDocumentNode<{ readonly post: Post | null }, { id: string }> = gql(`
  query Post($id: ID!) {
    post(id: $id) { id title createdAt }
  }
`);

const CREATE_POST: TypedDocumentNode<{ readonly createPost: Post }, { title: string; body: string }> = gql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) { id title createdAt }
  }
`);

export const CHANGES: TypedDocumentNode<{ readonly changes: PostChange }, Record<string, never>> = gql(`
  subscription PostChanges {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) {
      kind postId
      post { id title createdAt }
    }
  }
`);

/** Creates a post, once for each key. Without a key, each call is a separate task. */
export async function createPost(
  client: ApolloClient,
  title: string,
  body: string,
  key?: string,
): Promise<Post> {
  const { data } = await client.mutate({
    mutation: CREATE_POST,
    variables: { title, body },
    context: { key },
  });
  if (data == null) throw new Error('A mutation without errors has data.');
  return data.createPost;
}

/** Ids sort posts of the same millisecond. */
const getRank = ({ createdAt, id }: Post) => `${createdAt}${id}`;

/**
 * Inserts a post into the list in the cache, newest first. Does nothing if the list has the post, or if the post belongs to
 * a page that was not read.
 */
export function insertPost(client: ApolloClient, post: Post): void {
  client.cache.updateQuery({ query: POSTS }, (page) => {
    if (page === null || page.postsConnection.edges.some(({ node }) => node.id === post.id)) return page;
    const { edges, pageInfo } = page.postsConnection;
    const older = edges.findIndex(({ node }) => getRank(node) < getRank(post));
    if (older === -1 && pageInfo.hasNextPage && edges.length > 0) return page;
    // This cursor is never sent: the next page begins at `endCursor`.
    const edge = { __typename: 'PostEdge' as const, cursor: '', node: post };
    return {
      postsConnection: { pageInfo, edges: edges.toSpliced(older === -1 ? edges.length : older, 0, edge) },
    };
  });
}

/** Removes a post from the cache, and so from all lists, and then what nothing else refers to, such as its comments. */
function removePost(client: ApolloClient, postId: string): void {
  const id = client.cache.identify({ __typename: 'Post', id: postId });
  if (id !== undefined) client.cache.evict({ id });
  client.cache.gc();
}

/** Applies a change to the cache. An update needs nothing: the subscription has put the post into the cache. */
export function applyChange(client: ApolloClient, { kind, postId, post }: PostChange): void {
  if (kind === 'POST_DELETED') removePost(client, postId);
  else if (kind === 'POST_CREATED' && post !== null) insertPost(client, post);
}

/** A change, or an `error` with the code `EVENT_HISTORY_EXPIRED` if events are lost. */
export type PostChangeResult = ApolloClient.SubscribeResult<{ readonly changes: PostChange }>;

/** Follows the changes of posts. */
export function followPosts(client: ApolloClient): Observable<PostChangeResult> {
  return client.subscribe({ query: CHANGES });
}
