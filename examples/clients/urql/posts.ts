import { type Client, type CombinedError, gql, type TypedDocumentNode } from '@urql/core';
import { retryingFetch } from '../../retry.ts';

export interface Post {
  readonly id: string;
  readonly title: string;
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

const POST_CREATED: TypedDocumentNode<{ postCreated: Post }, Record<string, never>> = gql(`
  subscription PostCreated { postCreated { id title } }
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

/** Tells of each new post until it is stopped, or until the service ends the stream for good. */
export function followPosts(
  client: Client,
  onPost: (post: Post) => void,
  onEnd: (error: CombinedError) => void,
): () => void {
  const subscription = client.subscription(POST_CREATED, {}).subscribe(({ data, error }) => {
    // Beside the error of an event without data, urql repeats the data of the event before it.
    if (error !== undefined) {
      subscription.unsubscribe();
      onEnd(error);
    } else if (data != null) {
      onPost(data.postCreated);
    }
  });
  return () => subscription.unsubscribe();
}
