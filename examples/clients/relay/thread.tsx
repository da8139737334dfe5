import { type ReactNode, Suspense } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment } from 'react-relay';
import type { threadFragment$key } from './__generated__/threadFragment.graphql.ts';
import type { threadQuery } from './__generated__/threadQuery.graphql.ts';
import type { threadRefetchQuery } from './__generated__/threadRefetchQuery.graphql.ts';
import { CommentForm } from './comment-form.tsx';

function Comments({ post }: { readonly post: threadFragment$key }): ReactNode {
  const { data, loadNext, hasNext, isLoadingNext, refetch } = usePaginationFragment<
    threadRefetchQuery,
    threadFragment$key
  >(
    graphql`
      fragment threadFragment on Post
      @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" })
      @refetchable(queryName: "threadRefetchQuery") {
        id
        title
        commentCount
        commentsConnection(first: $count, after: $cursor) @connection(key: "thread_commentsConnection") {
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
  return (
    <article>
      <h1>{`${data.title} (${data.commentCount})`}</h1>
      <ol aria-busy={isLoadingNext}>
        {data.commentsConnection.edges.map(({ node }) => (
          <li key={node.id}>{node.body}</li>
        ))}
      </ol>
      <button type="button" disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
      <button type="button" onClick={() => refetch({}, { fetchPolicy: 'network-only' })}>
        Refresh
      </button>
      <CommentForm postId={data.id} connectionId={data.commentsConnection.__id} />
    </article>
  );
}

/** A post's comments, oldest first. */
export function Thread({ id }: { readonly id: string }): ReactNode {
  const { post } = useLazyLoadQuery<threadQuery>(
    graphql`
      query threadQuery($id: ID!) {
        post(id: $id) {
          ...threadFragment
        }
      }
    `,
    { id },
  );
  if (post == null) return <p>There is no such post.</p>;
  return (
    <Suspense fallback="Refreshing">
      <Comments post={post} />
    </Suspense>
  );
}
