import { type ReactNode, useMemo } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment, useSubscription } from 'react-relay';
import { ConnectionHandler, type GraphQLSubscriptionConfig } from 'relay-runtime';
import type { feedFragment$key } from './__generated__/feedFragment.graphql.ts';
import type { feedNextPageQuery } from './__generated__/feedNextPageQuery.graphql.ts';
import type { feedQuery } from './__generated__/feedQuery.graphql.ts';
import type { feedSubscription } from './__generated__/feedSubscription.graphql.ts';
import { PostTitle } from './post-title.tsx';

const NEW_POSTS = graphql`
  subscription feedSubscription {
    postCreated {
      id
      ...postTitleFragment
    }
  }
`;

/** Puts each new post before the others, unless the list has it already. */
function useNewPosts(connectionId: string): void {
  const config = useMemo(
    (): GraphQLSubscriptionConfig<feedSubscription> => ({
      subscription: NEW_POSTS,
      variables: {},
      updater: (store) => {
        const connection = store.get(connectionId);
        const post = store.getRootField('postCreated');
        if (connection == null || post == null) return;
        const edges = connection.getLinkedRecords('edges') ?? [];
        if (edges.some((edge) => edge?.getLinkedRecord('node')?.getDataID() === post.getDataID())) return;
        const edge = ConnectionHandler.createEdge(store, connection, post, 'PostEdge');
        ConnectionHandler.insertEdgeBefore(connection, edge);
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
              ...postTitleFragment
            }
          }
        }
      }
    `,
    query,
  );
  useNewPosts(data.postsConnection.__id);
  return (
    <>
      <ol aria-busy={isLoadingNext}>
        {data.postsConnection.edges.map(({ node }) => (
          <PostTitle key={node.id} post={node} />
        ))}
      </ol>
      <button type="button" disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
    </>
  );
}

/** All posts, newest first, a page at a time; new ones appear as they are created. */
export function Feed(): ReactNode {
  const query = useLazyLoadQuery<feedQuery>(
    graphql`
      query feedQuery {
        ...feedFragment
      }
    `,
    {},
  );
  return <Posts query={query} />;
}
