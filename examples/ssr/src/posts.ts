import { type Document, readConnection } from 'content-graph-client';

const POST = 'id title createdAt author { name }';

export interface Post {
  readonly id: string;
  readonly title: string;
  readonly createdAt: string;
  readonly author: { readonly name: string };
}

export interface Page {
  readonly viewer: { readonly id: string; readonly name: string };
  readonly postsConnection: {
    readonly nodes: readonly Post[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

interface Change {
  readonly postId: string;
  readonly post: Post | null;
}

export const PAGE: Document<Page, { after: string | null }> = `query ($after: String) {
  viewer { id name }
  postsConnection(first: 10, after: $after) { nodes { ${POST} } pageInfo { hasNextPage endCursor } }
}`;

export const CHANGES: Document<
  { changes: Change },
  Record<string, never>
> = `subscription { changes { postId post { ${POST} } } }`;

export const CREATE_POST =
  'mutation ($title: String!, $body: String!) { createPost(title: $title, body: $body) { id } }';

/** The list of `PAGE`, and what a change does to it. */
export const LIST = {
  document: PAGE,
  variables: (after: string | null) => ({ after }),
  list: (page: Page) => readConnection(page.postsConnection),
  changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
};
