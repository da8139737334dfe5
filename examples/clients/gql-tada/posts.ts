import type { Client, OperationResult, Subscription } from 'content-graph-client';
import type { ResultOf, VariablesOf } from 'gql.tada';
import { graphql } from './graphql.ts';

const PostsWithTag = graphql(`
  query PostsWithTag($tag: String!, $after: String) {
    postsConnection(tag: $tag, first: 50, after: $after) {
      nodes { id title createdAt author { name } }
      pageInfo { endCursor hasNextPage }
    }
  }
`);

const CreatePost = graphql(`
  mutation CreatePost($title: String!, $body: String!, $tags: [String!]) {
    createPost(title: $title, body: $body, tags: $tags) { id createdAt }
  }
`);

const PostChanges = graphql(`
  subscription PostChanges {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) { kind postId post { id title } }
  }
`);

type Page = ResultOf<typeof PostsWithTag>;

export interface PostSummary {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly author: { readonly name: string };
}

/** Yields all posts with a tag, newest first. Reads the next page when the current page is used up. */
export async function* readPostsWithTag(client: Client, tag: string): AsyncGenerator<PostSummary> {
  for (let after: string | null = null; ; ) {
    const page: OperationResult<Page> = await client.query(PostsWithTag, { tag, after });
    const { nodes, pageInfo } = page.data.postsConnection;
    yield* nodes;
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}

/** Creates a post, once for each task. Store the id of the task before the first call. */
export async function createPost(
  client: Client,
  post: VariablesOf<typeof CreatePost>,
  taskId: string,
): Promise<{ readonly id: string; readonly createdAt: string }> {
  const { data } = await client.mutate(CreatePost, post, { key: taskId });
  return data.createPost;
}

/** Follows the changes of posts after an event, or from now. */
export function followPosts(client: Client, after?: string): Subscription<ResultOf<typeof PostChanges>> {
  return client.subscribe(PostChanges, {}, { after });
}
