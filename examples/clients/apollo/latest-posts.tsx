import { ApolloProvider } from '@apollo/client/react';
import { createClient } from 'content-graph-client';
import { type ReactNode, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createApolloClient } from './client.ts';
import { useLivePosts } from './use-live-posts.ts';

function LatestPosts(): ReactNode {
  const { posts, loading, hasMore, more, error } = useLivePosts();
  return (
    <section>
      {error !== undefined && <p role="alert">{error.message}</p>}
      <ol aria-busy={loading}>
        {posts.map(({ id, title }) => (
          <li key={id}>{title}</li>
        ))}
      </ol>
      <button type="button" disabled={!hasMore || loading} onClick={() => void more()}>
        More
      </button>
    </section>
  );
}

const client = createApolloClient(createClient({ url: '/graphql' }));
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <ApolloProvider client={client}>
        <LatestPosts />
      </ApolloProvider>
    </StrictMode>,
  );
