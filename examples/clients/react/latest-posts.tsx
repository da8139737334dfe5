import { readConnection } from 'content-graph-client';
import { useConnectionState, useLiveQuery, useOnce } from 'content-graph-client/react';
import type { ResultOf } from 'gql.tada';
import type { FormEvent, ReactNode } from 'react';
import { graphql } from '../gql-tada/graphql.ts';

const LatestPostsQuery = graphql(`
  query LatestPosts($after: String) {
    postsConnection(first: 20, after: $after) {
      nodes { id title commentCount createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

export const ChangesSubscription = graphql(`
  subscription LatestChanges {
    changes { postId post { id title commentCount createdAt } }
  }
`);

const CreatePost = graphql(`
  mutation WritePost($title: String!, $body: String!) {
    createPost(title: $title, body: $body) { id }
  }
`);

const LIST = {
  document: LatestPostsQuery,
  variables: (after: string | null) => ({ after }),
  list: ({ postsConnection }: ResultOf<typeof LatestPostsQuery>) => readConnection(postsConnection),
  changed: ({ postId, post }: ResultOf<typeof ChangesSubscription>['changes']) => ({
    key: postId,
    item: post,
  }),
};

/** The newest posts, with their edits, deletions and counts. */
export function LatestPosts(): ReactNode {
  const { items = [], hasMore, isReading, more } = useLiveQuery(LIST);
  const { status } = useConnectionState();
  return (
    <section>
      <p role="status">{status}</p>
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

/** A second click, a lost response or a reload creates no second post. */
export function PostForm(): ReactNode {
  const { isSending, error, send } = useOnce(CreatePost, 'write');
  const publish = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const fields = new FormData(form);
    const result = await send({ title: String(fields.get('title')), body: String(fields.get('body')) });
    if (result !== undefined) form.reset();
  };
  return (
    <form onSubmit={(event) => void publish(event)}>
      <input name="title" aria-label="Title" required />
      <input name="body" aria-label="Text" required />
      <button type="submit" disabled={isSending}>
        Publish
      </button>
      {error !== undefined && <p role="alert">{error.message}</p>}
    </form>
  );
}
