import type { ResultOf, VariablesOf } from 'gql.tada';
import type { Api } from './api.ts';
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

export interface PostSummary {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly author: { readonly name: string };
}

function fetchPage(api: Api, tag: string, after: string | null): Promise<ResultOf<typeof PostsWithTag>> {
  return api.query(PostsWithTag, { tag, after });
}

/** All posts with a tag, newest first. Fetches a page when the one before is used up. */
export async function* postsWithTag(api: Api, tag: string): AsyncGenerator<PostSummary> {
  for (let after: string | null = null; ; ) {
    const { postsConnection } = await fetchPage(api, tag, after);
    yield* postsConnection.nodes;
    const { hasNextPage, endCursor } = postsConnection.pageInfo;
    if (!hasNextPage) return;
    after = endCursor;
  }
}

/** Creates a post. `taskId` is the same each time that the caller tries the same task again. */
export async function createPost(
  api: Api,
  post: VariablesOf<typeof CreatePost>,
  taskId: string,
): Promise<{ readonly id: string; readonly createdAt: string }> {
  return (await api.mutate(CreatePost, post, taskId)).data.createPost;
}
