import { type Client, gql, type TypedDocumentNode } from '@urql/core';

export interface Post {
  readonly id: string;
  readonly title: string;
}

export interface PostChange {
  readonly kind: 'POST_CREATED' | 'POST_UPDATED' | 'POST_DELETED';
  readonly postId: string;
  /** The current post. Null if the post was deleted. */
  readonly post: Post | null;
}

// gql.tada and graphql-codegen infer these types from the documents.
const NEWEST_POSTS: TypedDocumentNode<{ posts: readonly Post[] }, { limit: number }> = gql(`
  query NewestPosts($limit: Int!) { posts(limit: $limit) { id title } }
`);

export const CREATE_POST: TypedDocumentNode<{ createPost: Post }, { title: string; body: string }> = gql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) { id title }
  }
`);

const CHANGES: TypedDocumentNode<{ changes: PostChange }, Record<string, never>> = gql(`
  subscription PostChanges {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
  }
`);

/** Throws the error of urql: `graphQLErrors` has the codes, `networkError` says that there was no response. */
export async function readNewestPosts(urql: Client, limit: number): Promise<readonly Post[]> {
  const { data, error } = await urql.query(NEWEST_POSTS, { limit });
  if (data == null) throw error;
  return data.posts;
}

/** Creates a post, once for each key. */
export async function createPost(
  urql: Client,
  post: { title: string; body: string },
  key: string,
): Promise<Post> {
  const { data, error } = await urql.mutation(CREATE_POST, post, { key });
  if (data == null) throw error;
  return data.createPost;
}

/** Calls `onChange` for each change of a post until the returned function is called. */
export function followPosts(urql: Client, onChange: (change: PostChange) => void): () => void {
  const { unsubscribe } = urql.subscription(CHANGES, {}).subscribe(({ data, error }) => {
    // With an error, urql repeats the data of the event before.
    if (error === undefined && data != null) onChange(data.changes);
  });
  return unsubscribe;
}
