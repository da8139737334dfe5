import { createFollowConfig } from 'content-graph-client/relay';
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
import { PostTitle } from './post-title.tsx';

/** For the query and for its subscription: the stream begins after the event that the result shows. */
const FOLLOWED = createFollowConfig('feed');

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

/** Ids sort posts of the same millisecond. */
const getRank = (post: RecordProxy) => `${post.getValue('createdAt')}${post.getDataID()}`;

/**
 * Inserts a post into the list, newest first. Does nothing if the list has the post, or if the post belongs to a page that
 * was not read.
 */
function insertPost(store: RecordSourceProxy, connectionId: string, post: RecordProxy): void {
  const connection = store.get(connectionId);
  const edges = connection?.getLinkedRecords('edges');
  if (connection == null || edges == null) return;
  const nodes = edges.map((edge) => edge?.getLinkedRecord('node'));
  if (nodes.some((node) => node?.getDataID() === post.getDataID())) return;
  const older = nodes.findIndex((node) => node != null && getRank(node) < getRank(post));
  const hasNext = connection.getLinkedRecord('pageInfo')?.getValue('hasNextPage');
  if (older === -1 && hasNext === true && nodes.some((node) => node != null)) return;
  const edge = ConnectionHandler.createEdge(store, connection, post, 'PostEdge');
  connection.setLinkedRecords(edges.toSpliced(older === -1 ? edges.length : older, 0, edge), 'edges');
}

/** Shows changes of posts. An update needs no code: Relay puts the post of an event into the store. */
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
        // A post that has been deleted is null.
        else if (post != null && kind === 'POST_CREATED') insertPost(store, connectionId, post);
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
          // Null for a deleted post, although its type does not say so.
          ({ node }) => node != null && <PostTitle key={node.id} post={node} />,
        )}
      </ol>
      <button type="button" disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
    </>
  );
}

/** All posts, newest first, with every change. */
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
