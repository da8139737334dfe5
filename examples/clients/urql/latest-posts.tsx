import { type ReactNode, StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Provider } from 'urql';
import { createUrqlClient } from './client.ts';
import { useLivePosts } from './use-live-posts.ts';

function LatestPosts({ onReadAgain }: { readonly onReadAgain: () => void }): ReactNode {
  const { posts, fetching, hasMore, more, error } = useLivePosts();
  return (
    <section>
      {error !== undefined && (
        <p role="alert">
          {error.message}{' '}
          <button type="button" onClick={onReadAgain}>
            Read again
          </button>
        </p>
      )}
      <ol aria-busy={fetching}>
        {posts.map(({ id, title, commentCount }) => (
          <li key={id}>{`${title} (${commentCount})`}</li>
        ))}
      </ol>
      <button type="button" disabled={!hasMore || fetching} onClick={more}>
        More
      </button>
    </section>
  );
}

function Page(): ReactNode {
  const [turn, setTurn] = useState(0);
  return <LatestPosts key={turn} onReadAgain={() => setTurn(turn + 1)} />;
}

const client = createUrqlClient('/graphql', {});
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <Provider value={client}>
        <Page />
      </Provider>
    </StrictMode>,
  );
