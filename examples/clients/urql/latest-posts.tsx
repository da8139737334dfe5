import { createClient, openChanges, readConnection } from 'content-graph-client';
import { ContentGraphProvider, useClient, useLiveQuery } from 'content-graph-client/react';
import { type FormEvent, type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { gql, Provider, type TypedDocumentNode, useMutation } from 'urql';
import { createUrqlClient } from './client.ts';
import { CREATE_POST } from './posts.ts';

interface Post {
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

const LIVE_POSTS: TypedDocumentNode<Page, { after: string | null }> = gql(`
  query LivePosts($after: String) {
    postsConnection(first: 20, after: $after) {
      nodes { id title commentCount createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

const LIVE_CHANGES: TypedDocumentNode<{ changes: Change }, Record<string, never>> = gql(`
  subscription LivePostChanges {
    changes { postId post { id title commentCount createdAt } }
  }
`);

const LIST = {
  document: LIVE_POSTS,
  variables: (after: string | null) => ({ after }),
  list: ({ postsConnection }: Page) => readConnection(postsConnection),
  changed: ({ postId, post }: Change) => ({ key: postId, item: post }),
};

function LatestPosts(): ReactNode {
  const { items = [], hasMore, isReading, more } = useLiveQuery(LIST);
  return (
    <section>
      <ol aria-busy={isReading}>
        {items.map(({ id, title, commentCount }) => (
          <li key={id}>{`${title} (${commentCount})`}</li>
        ))}
      </ol>
      <button type="button" disabled={!hasMore || isReading} onClick={more}>
        More
      </button>
    </section>
  );
}

/** The same input has the same key, so a second click or a reload creates no second post. */
function PostForm(): ReactNode {
  const intent = useClient().intent('write');
  const [{ fetching, error }, create] = useMutation(CREATE_POST);
  const send = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const post = { title: String(fields.get('title')), body: String(fields.get('body')) };
    const { error } = await create(post, { intent });
    if (error === undefined) form.reset();
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <input name="title" aria-label="Title" required />
      <input name="body" aria-label="Text" required />
      <button type="submit" disabled={fetching}>
        Publish
      </button>
      {error !== undefined && <p role="alert">{error.message}</p>}
    </form>
  );
}

const root = document.getElementById('root');
const user = await createClient({ url: '/graphql' }).session.getViewer();
if (root !== null && user !== null) {
  const client = createClient({ url: '/graphql', identity: user.id });
  const changes = openChanges(client, LIVE_CHANGES, (data) => data.changes);
  createRoot(root).render(
    <StrictMode>
      <ContentGraphProvider client={client} changes={changes}>
        <Provider value={createUrqlClient(client)}>
          <PostForm />
          <LatestPosts />
        </Provider>
      </ContentGraphProvider>
    </StrictMode>,
  );
}
