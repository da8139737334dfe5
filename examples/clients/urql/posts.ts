import { type Client, type CombinedError, gql, type TypedDocumentNode } from '@urql/core';
import { retryingFetch } from '../../retry.ts';

export interface Post {
  readonly id: string;
  readonly title: string;
}

/** What has happened to a post. */
export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** As it is now; null if it is gone. */
  readonly post: Post | null;
}

// gql.tada and graphql-codegen infer these types from the documents.
const NEWEST_POSTS: TypedDocumentNode<{ posts: readonly Post[] }, { limit: number }> = gql(`
  query NewestPosts($limit: Int!) { posts(limit: $limit) { id title } }
`);

const CREATE_POST: TypedDocumentNode<{ createPost: Post }, { title: string; body: string }> = gql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) { id title }
  }
`);

const CHANGES: TypedDocumentNode<{ changes: PostChange }, Record<string, never>> = gql(`
  subscription PostChanges {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
  }
`);

/** Throws urql's error: `graphQLErrors` has the codes, `networkError` tells of no answer. */
export async function newestPosts(client: Client, limit: number): Promise<readonly Post[]> {
  const { data, error } = await client.query(NEWEST_POSTS, { limit });
  if (data == null) throw error;
  return data.posts;
}

/** Creates a post, once for each key, however often it has to be sent. */
export async function createPost(
  client: Client,
  post: { title: string; body: string },
  idempotencyKey: string,
): Promise<Post> {
  const { data, error } = await client.mutation(CREATE_POST, post, {
    fetch: retryingFetch({ idempotencyKey }),
  });
  if (data == null) throw error;
  return data.createPost;
}

/** Tells of each change of a post until it is stopped, or until the service ends the stream for good. */
export function followPosts(
  client: Client,
  onChange: (change: PostChange) => void,
  onEnd: (error: CombinedError) => void,
): () => void {
  const subscription = client.subscription(CHANGES, {}).subscribe(({ data, error }) => {
    // Beside the error of an event without data, urql repeats the data of the event before it.
    if (error !== undefined) {
      subscription.unsubscribe();
      onEnd(error);
    } else if (data != null) {
      onChange(data.changes);
    }
  });
  return () => subscription.unsubscribe();
}
