import { type ReactNode, useMemo } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment, useSubscription } from 'react-relay';
import {
  ConnectionHandler,
  type GraphQLSubscriptionConfig,
  type RecordProxy,
  type RecordSourceProxy,
} from 'relay-runtime';
import type { feedFragment$key } from './__generated__/feedFragment.graphql.ts';
import type { feedNextPageQuery } from './__generated__/feedNextPageQuery.graphql.ts';
import type { feedQuery } from './__generated__/feedQuery.graphql.ts';
import type { feedSubscription } from './__generated__/feedSubscription.graphql.ts';
import { followed } from './environment.ts';
import { PostTitle } from './post-title.tsx';

const FOLLOWED = followed('feed');

const CHANGES = graphql`
  subscription feedSubscription {
    changes(kinds: [POST_CREATED, POST_UPDATED, POST_DELETED]) {
      kind
      postId
      post {
        id
        createdAt
        ...postTitleFragment
      }
    }
  }
`;

/** The ids of one millisecond are in order too. */
const rankOf = (post: RecordProxy) => `${post.getValue('createdAt')}${post.getDataID()}`;

/**
 * Puts a post where it belongs, newest first: an event may be of one that the list has, or that is further down than was
 * read. Its page brings that one.
 */
function insert(store: RecordSourceProxy, connectionId: string, post: RecordProxy): void {
  const connection = store.get(connectionId);
  const edges = connection?.getLinkedRecords('edges');
  if (connection == null || edges == null) return;
  const nodes = edges.map((edge) => edge?.getLinkedRecord('node'));
  if (nodes.some((node) => node?.getDataID() === post.getDataID())) return;
  const older = nodes.findIndex((node) => node != null && rankOf(node) < rankOf(post));
  const hasNext = connection.getLinkedRecord('pageInfo')?.getValue('hasNextPage');
  if (older === -1 && hasNext === true && nodes.some((node) => node != null)) return;
  const edge = ConnectionHandler.createEdge(store, connection, post, 'PostEdge');
  connection.setLinkedRecords(edges.toSpliced(older === -1 ? edges.length : older, 0, edge), 'edges');
}

/** Shows what happens to posts. Relay puts what an event says of a post into the store: an edit needs no more. */
function useChanges(connectionId: string): void {
  const config = useMemo(
    (): GraphQLSubscriptionConfig<feedSubscription> => ({
      subscription: CHANGES,
      variables: {},
      cacheConfig: FOLLOWED,
      updater: (store) => {
        const change = store.getRootField('changes');
        const kind = change?.getValue('kind');
        const post = change?.getLinkedRecord('post');
        if (change != null && kind === 'POST_DELETED') store.delete(change.getValue('postId'));
        // A post that is gone already is null.
        else if (post != null && kind === 'POST_CREATED') insert(store, connectionId, post);
      },
    }),
    [connectionId],
  );
  useSubscription(config);
}

function Posts({ query }: { readonly query: feedFragment$key }): ReactNode {
  const { data, loadNext, hasNext, isLoadingNext } = usePaginationFragment<
    feedNextPageQuery,
    feedFragment$key
  >(
    graphql`
      fragment feedFragment on Query
      @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" })
      @refetchable(queryName: "feedNextPageQuery") {
        postsConnection(first: $count, after: $cursor) @connection(key: "feed_postsConnection") {
          __id
          edges {
            node {
              id
              createdAt
              ...postTitleFragment
            }
          }
        }
      }
    `,
    query,
  );
  useChanges(data.postsConnection.__id);
  return (
    <>
      <ol aria-busy={isLoadingNext}>
        {data.postsConnection.edges.map(
          // Null for a post that was deleted, whatever the type says.
          ({ node }) => node != null && <PostTitle key={node.id} post={node} />,
        )}
      </ol>
      <button type="button" disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
    </>
  );
}

/** All posts, newest first, a page at a time; it shows what happens to them. */
export function Feed(): ReactNode {
  const query = useLazyLoadQuery<feedQuery>(
    graphql`
      query feedQuery {
        ...feedFragment
      }
    `,
    {},
    { networkCacheConfig: FOLLOWED },
  );
  return <Posts query={query} />;
}
