import { type ApolloClient, gql, type TypedDocumentNode } from '@apollo/client';
import type { Observable } from 'rxjs';

export interface Post {
  readonly __typename: 'Post';
  readonly id: string;
  readonly title: string;
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
    }
  }
`);

const CREATE_POST: TypedDocumentNode<{ readonly createPost: Post }, { title: string; body: string }> = gql(`
  mutation CreatePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) {
      id
      title
    }
  }
`);

const POST_CREATED: TypedDocumentNode<{ readonly postCreated: Post }, Record<string, never>> = gql(`
  subscription PostCreated {
    postCreated {
      id
      title
    }
  }
`);

/** The client sends it with an `Idempotency-Key`, the same for each attempt. */
export async function createPost(client: ApolloClient, title: string, body: string): Promise<Post> {
  const { data } = await client.mutate({ mutation: CREATE_POST, variables: { title, body } });
  if (data == null) throw new Error('a mutation without errors has data');
  return data.createPost;
}

/** The list in the cache with a new post before the others. Does nothing where it is already in the list. */
export function prepend(client: ApolloClient, post: Post): void {
  client.cache.updateQuery({ query: POSTS }, (page) => {
    if (page === null || page.postsConnection.edges.some(({ node }) => node.id === post.id)) return page;
    // Cursors are opaque: this one is never sent. The next page begins at `endCursor`.
    const edge = { __typename: 'PostEdge' as const, cursor: '', node: post };
    return { postsConnection: { ...page.postsConnection, edges: [edge, ...page.postsConnection.edges] } };
  });
}

/** A post, or an `error` that either ends the stream or tells of a gap (EVENT_HISTORY_EXPIRED). */
export type PostCreated = ApolloClient.SubscribeResult<{ readonly postCreated: Post }>;

/** Each post as it is created. */
export function postsCreated(client: ApolloClient): Observable<PostCreated> {
  return client.subscribe({ query: POST_CREATED });
}
