import type { ApolloClient } from '@apollo/client';
import { ApolloProvider, useQuery, useSubscription } from '@apollo/client/react';
import { type ReactNode, StrictMode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import { apply, CHANGES, POSTS } from './posts.ts';

const FIRST = 20;

/** The list in the cache. What the stream brings is put there too, so that every list shows it. */
function Posts(): ReactNode {
  const { data, loading, error, fetchMore } = useQuery(POSTS, { variables: { first: FIRST } });
  const { error: ended } = useSubscription(CHANGES, {
    onData({ client, data: { data: changed } }) {
      if (changed !== undefined) apply(client, changed.changes);
    },
  });
  const { edges = [], pageInfo } = data?.postsConnection ?? {};
  const more = () => void fetchMore({ variables: { after: pageInfo?.endCursor ?? null } });
  return (
    <section>
      {[error, ended].map(
        (problem) => problem !== undefined && <p key={problem.message}>{problem.message}</p>,
      )}
      <ol aria-busy={loading}>
        {edges.map(({ node }) => (
          <li key={node.id}>{node.title}</li>
        ))}
      </ol>
      <button type="button" disabled={loading || pageInfo?.hasNextPage !== true} onClick={more}>
        More
      </button>
    </section>
  );
}

/** All posts, newest first, a page at a time; it shows what happens to them. */
export function Feed({ client }: { readonly client: ApolloClient }): ReactNode {
  return (
    <ApolloProvider client={client}>
      <Posts />
    </ApolloProvider>
  );
}

/** Shows it on a page. */
export function showFeed(container: Element, client: ApolloClient): Root {
  const root = createRoot(container);
  root.render(
    <StrictMode>
      <Feed client={client} />
    </StrictMode>,
  );
  return root;
}
