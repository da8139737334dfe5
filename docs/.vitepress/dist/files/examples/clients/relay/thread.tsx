import { createFollowConfig } from 'content-graph-client/relay';
import { type ReactNode, Suspense, useMemo } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment, useSubscription } from 'react-relay';
import type { GraphQLSubscriptionConfig } from 'relay-runtime';
import type { threadFragment$key } from './__generated__/threadFragment.graphql.ts';
import type { threadQuery, threadQuery$variables } from './__generated__/threadQuery.graphql.ts';
import type { threadRefetchQuery } from './__generated__/threadRefetchQuery.graphql.ts';
import type { threadSubscription } from './__generated__/threadSubscription.graphql.ts';
import { CommentForm } from './comment-form.tsx';

/** `@deleteRecord` deletes the record with this id at every event, so the subscription asks for deletions alone. */
const DELETED_COMMENTS = graphql`
  subscription threadSubscription($id: ID!) {
    changes(post: $id, kinds: [COMMENT_DELETED]) {
      commentId @deleteRecord
      post {
        id
        commentCount
      }
    }
  }
`;

function useDeletedComments(id: string): void {
  const config = useMemo(
    (): GraphQLSubscriptionConfig<threadSubscription> => ({
      subscription: DELETED_COMMENTS,
      variables: { id },
      cacheConfig: createFollowConfig(`thread ${id}`),
    }),
    [id],
  );
  useSubscription(config);
}

function Comments({ post }: { readonly post: threadFragment$key }): ReactNode {
  const { data, loadNext, hasNext, isLoadingNext, loadPrevious, hasPrevious, isLoadingPrevious, refetch } =
    usePaginationFragment<threadRefetchQuery, threadFragment$key>(
      graphql`
        fragment threadFragment on Post
        @argumentDefinitions(
          first: { type: "Int" }
          after: { type: "String" }
          last: { type: "Int" }
          before: { type: "String" }
        )
        @refetchable(queryName: "threadRefetchQuery") {
          id
          title
          commentCount
          commentsConnection(first: $first, after: $after, last: $last, before: $before)
            @connection(key: "thread_commentsConnection") {
            __id
            edges {
              node {
                id
                body
              }
            }
          }
        }
      `,
      post,
    );
  useDeletedComments(data.id);
  const isLoading = isLoadingNext || isLoadingPrevious;
  return (
    <article>
      <h1>{`${data.title} (${data.commentCount})`}</h1>
      <button type="button" disabled={!hasPrevious || isLoading} onClick={() => loadPrevious(2)}>
        Earlier
      </button>
      <ol aria-busy={isLoading}>
        {data.commentsConnection.edges.map(
          // Null for a deleted comment, although its type does not say so.
          ({ node }) => node != null && <li key={node.id}>{node.body}</li>,
        )}
      </ol>
      <button type="button" disabled={!hasNext || isLoading} onClick={() => loadNext(2)}>
        More
      </button>
      <button type="button" onClick={() => refetch({}, { fetchPolicy: 'network-only' })}>
        Refresh
      </button>
      <CommentForm postId={data.id} connectionId={data.commentsConnection.__id} />
    </article>
  );
}

/** `first` begins at the start of the list or after a cursor, `last` at its end or before a cursor. */
export type FirstPage = Omit<threadQuery$variables, 'id'>;

/** A post's comments, oldest first, from any place in the list in both directions. */
export function Thread({ id, page }: { readonly id: string; readonly page: FirstPage }): ReactNode {
  const networkCacheConfig = useMemo(() => createFollowConfig(`thread ${id}`), [id]);
  const { post } = useLazyLoadQuery<threadQuery>(
    graphql`
      query threadQuery($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
        post(id: $id) {
          ...threadFragment @arguments(first: $first, after: $after, last: $last, before: $before)
        }
      }
    `,
    { id, ...page },
    { networkCacheConfig },
  );
  if (post == null) return <p>There is no such post.</p>;
  return (
    <Suspense fallback="Refreshing">
      <Comments post={post} />
    </Suspense>
  );
}
