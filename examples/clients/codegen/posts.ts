import { GraphQLClient } from 'graphql-request';
import { retryingFetch } from '../../retry.ts';
import { graphql } from './generated/gql.ts';
import type { CreatePostMutationVariables, NewestPostsQuery } from './generated/graphql.ts';

const newestPostsDocument = graphql(`
  query NewestPosts($first: Int!, $after: String) {
    postsConnection(first: $first, after: $after) {
      nodes { id title createdAt author { name } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

const createPostDocument = graphql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) { id createdAt }
  }
`);

export interface Credentials {
  /** For example `http://127.0.0.1:4000/graphql`. */
  readonly url: string;
  /** For example `{ authorization: 'Bearer …' }`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A page of posts, newest first. Throws a `ClientError` whose `response.errors` have the codes. */
export async function newestPosts(
  { url, headers }: Credentials,
  first: number,
  after?: string,
): Promise<NewestPostsQuery['postsConnection']> {
  const client = new GraphQLClient(url, { headers });
  return (await client.request(newestPostsDocument, { first, after })).postsConnection;
}

/** Creates a post, once for each key, however often it has to be sent. Returns its id. */
export async function createPost(
  { url, headers }: Credentials,
  post: CreatePostMutationVariables,
  idempotencyKey: string,
): Promise<string> {
  const client = new GraphQLClient(url, { headers, fetch: retryingFetch({ idempotencyKey }) });
  return (await client.request(createPostDocument, post)).createPost.id;
}
