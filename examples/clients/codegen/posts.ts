import type { Client } from 'content-graph-client';
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

/** Reads a page of posts, newest first. */
export async function readNewestPosts(
  client: Client,
  first: number,
  after?: string,
): Promise<NewestPostsQuery['postsConnection']> {
  const { data } = await client.query(newestPostsDocument, { first, after });
  return data.postsConnection;
}

/** Creates a post, once for each key. @returns the id of the post */
export async function createPost(
  client: Client,
  post: CreatePostMutationVariables,
  key: string,
): Promise<string> {
  const { data } = await client.mutate(createPostDocument, post, { key });
  return data.createPost.id;
}
