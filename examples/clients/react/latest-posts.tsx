import type { ResultOf } from 'gql.tada';
import { print } from 'graphql';
import { type ReactNode, useMemo } from 'react';
import { graphql } from '../gql-tada/graphql.ts';
import { type ListOptions, useChanges, useLiveList } from './use-live.ts';

const PostsQuery = graphql(`
  query Posts($first: Int!, $after: String) {
    postsConnection(first: $first, after: $after) {
      nodes { id title commentCount createdAt }
      pageInfo { hasNextPage endCursor }
    }
  }
`);

const ChangesSubscription = graphql(`
  subscription PostChanges {
    changes { postId post { id title commentCount createdAt } }
  }
`);

type Change = ResultOf<typeof ChangesSubscription>['changes'];
type Post = NonNullable<Change['post']>;

const POSTS: ListOptions<ResultOf<typeof PostsQuery>, Post, Change> = {
  query: print(PostsQuery),
  variables: (after) => ({ first: 20, after }),
  list: ({ postsConnection: { nodes, pageInfo } }) => ({
    items: nodes,
    more: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  }),
  key: ({ id }) => id,
  // Newest first. The ids of one millisecond are in order too.
  order: (one, other) => (one.createdAt + one.id < other.createdAt + other.id ? 1 : -1),
  changed: ({ postId, post }) => ({ key: postId, item: post }),
};

export interface Service {
  readonly url: string;
  /** None beside a session cookie. */
  readonly headers?: () => Record<string, string>;
}

/** The newest posts, with their edits, deletions and counts. `identity` is the id of the user who is signed in. */
export function LatestPosts(props: { readonly service: Service; readonly identity: string }): ReactNode {
  const { service, identity } = props;
  const operation = useMemo(() => ({ ...service, query: print(ChangesSubscription) }), [service]);
  const { changes, state } = useChanges<Change>(operation, identity);
  const { items = [], hasMore, isReading, connectionError, more } = useLiveList(changes, POSTS);
  return (
    <section>
      <p role="status">{connectionError?.status ?? state.status}</p>
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
