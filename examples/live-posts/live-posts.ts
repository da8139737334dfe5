import { createClient, type Document, liveQuery, openChanges, readConnection } from 'content-graph-client';

export interface Post {
  readonly id: string;
  readonly title: string;
  readonly commentCount: number;
  readonly createdAt: string;
}

interface Page {
  readonly postsConnection: {
    readonly nodes: readonly Post[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

interface Change {
  readonly postId: string;
  readonly post: Post | null;
}

const POSTS: Document<Page, { after: string | null }> = `query LivePosts($after: String) {
  postsConnection(first: 20, after: $after) {
    nodes { id title commentCount createdAt }
    pageInfo { hasNextPage endCursor }
  }
}`;

const CHANGES: Document<{ changes: Change }, Record<string, never>> = `subscription LiveChanges {
  changes { postId post { id title commentCount createdAt } }
}`;

const CREATE_POST: Document<{ createPost: { id: string } }, { title: string; body: string }> =
  `mutation LiveCreate($title: String!, $body: String!) {
  createPost(title: $title, body: $body) { id }
}`;

/** Opens the newest posts for the account with this id. All tabs share one stream. */
export function openLivePosts(identity: string) {
  const client = createClient({ url: '/graphql', identity });
  const changes = openChanges(client, CHANGES, (data) => data.changes);
  const posts = liveQuery(changes, {
    document: POSTS,
    variables: (after: string | null) => ({ after }),
    list: ({ postsConnection }: Page) => readConnection(postsConnection),
    changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
  });
  return {
    posts,
    connection: client.state,
    /** Creates a post. The same input creates one post, also after a second click, an error or a reload. */
    publish: (title: string, body: string) =>
      client.mutate(CREATE_POST, { title, body }, { intent: client.intent('write') }),
    close() {
      posts.close();
      client.close();
    },
  };
}
