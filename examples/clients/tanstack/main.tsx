import { QueryClient, QueryClientProvider, useMutation, useQuery } from '@tanstack/react-query';
import { type ContentGraphError, createClient, type SessionUser } from 'content-graph-client';
import { useStore } from 'content-graph-client/react';
import { type ReactNode, StrictMode, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { LiveProvider, useConnection } from './live-provider.tsx';
import './page.css';
import { PostList } from './post-list.tsx';
import { SignIn } from './sign-in.tsx';

/** On the origin of the page. For a service on another origin, an absolute URL. */
const URL_OF_SERVICE = '/graphql';

interface PageProps {
  readonly onUser: (user: SessionUser | null) => void;
  /** Asks again who is signed in. */
  readonly onResumed: () => void;
}

function Page({ onUser, onResumed }: PageProps): ReactNode {
  const { cache, user } = useConnection();
  const { session, state: store } = cache.client;
  const state = useStore(store);
  const isSignedOut = state.status === 'reconnecting' && state.reason === 'unauthenticated';
  const leave = useMutation({ mutationFn: () => session.signOut(), onSuccess: () => onUser(null) });
  // While the stream was broken, another tab may have signed in as another user.
  const wasBroken = useRef(false);
  useEffect(() => {
    if (wasBroken.current && state.status === 'live') onResumed();
    wasBroken.current = state.status === 'reconnecting' || (wasBroken.current && state.status !== 'live');
  }, [state.status, onResumed]);
  return (
    <>
      <header>
        <h1>Posts</h1>
        <p role="status">{`${user.name}: ${state.status}`}</p>
        <button type="button" disabled={leave.isPending} onClick={() => leave.mutate()}>
          Sign out
        </button>
      </header>
      {leave.error !== null && <p role="alert">{`You may still be signed in. ${leave.error.message}`}</p>}
      {isSignedOut && (
        <>
          <p role="alert">{`Your session has expired. Your input is kept if ${user.name} signs in.`}</p>
          <SignIn session={session} onUser={onUser} />
        </>
      )}
      <PostList />
    </>
  );
}

const VIEWER = ['viewer'];
const { session } = createClient({ url: URL_OF_SERVICE });
const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
const setUser = (user: SessionUser | null) => {
  // The result of a pending request is older.
  void queries.cancelQueries({ queryKey: VIEWER });
  queries.setQueryData(VIEWER, user);
};
const askAgain = () => void queries.invalidateQueries({ queryKey: VIEWER });

function App(): ReactNode {
  const [retried, setRetried] = useState<ContentGraphError>();
  const {
    data: user,
    error,
    refetch,
  } = useQuery({
    queryKey: VIEWER,
    queryFn: ({ signal }) => session.getViewer({ signal, onRetry: setRetried }),
    retry: false,
  });
  if (user === undefined) {
    const message = (error ?? retried)?.message;
    if (message === undefined) return null;
    return (
      <p role="alert">
        {message}{' '}
        {error === null ? (
          'Trying again …'
        ) : (
          <button type="button" onClick={() => void refetch()}>
            Try again
          </button>
        )}
      </p>
    );
  }
  if (user === null) return <SignIn session={session} onUser={setUser} />;
  return (
    <LiveProvider key={user.id} url={URL_OF_SERVICE} user={user}>
      <Page onUser={setUser} onResumed={askAgain} />
    </LiveProvider>
  );
}

const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <main>
          <App />
        </main>
      </QueryClientProvider>
    </StrictMode>,
  );
