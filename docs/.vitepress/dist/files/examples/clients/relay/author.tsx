import type { ReactNode } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment } from 'react-relay';
import type { authorFragment$key } from './__generated__/authorFragment.graphql.ts';
import type { authorNextPageQuery } from './__generated__/authorNextPageQuery.graphql.ts';
import type { authorQuery } from './__generated__/authorQuery.graphql.ts';
import { PostTitle } from './post-title.tsx';

/** The next page is read through `node(id:)`: the compiler writes that query. */
function PostsOf({ author }: { readonly author: authorFragment$key }): ReactNode {
  const { data, loadNext, hasNext, isLoadingNext } = usePaginationFragment<
    authorNextPageQuery,
    authorFragment$key
  >(
    graphql`
      fragment authorFragment on User
      @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "String" })
      @refetchable(queryName: "authorNextPageQuery") {
        name
        postsConnection(first: $count, after: $cursor) @connection(key: "author_postsConnection") {
          edges {
            node {
              id
              ...postTitleFragment
            }
          }
        }
      }
    `,
    author,
  );
  return (
    <section>
      <h1>{data.name}</h1>
      <ol aria-busy={isLoadingNext}>
        {data.postsConnection.edges.map(
          // Null for a deleted post, although its type does not say so.
          ({ node }) => node != null && <PostTitle key={node.id} post={node} />,
        )}
      </ol>
      <button type="button" disabled={!hasNext || isLoadingNext} onClick={() => loadNext(2)}>
        More
      </button>
    </section>
  );
}

/** A user's posts, newest first. */
export function Author({ id }: { readonly id: string }): ReactNode {
  const { user } = useLazyLoadQuery<authorQuery>(
    graphql`
      query authorQuery($id: ID!) {
        user(id: $id) {
          ...authorFragment
        }
      }
    `,
    { id },
  );
  return user == null ? <p>There is no such user.</p> : <PostsOf author={user} />;
}
