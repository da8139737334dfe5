import { QueryClient, QueryClientProvider, useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, StrictMode, useEffect, useRef } from 'react';
import { createRoot } from 'react-dom/client';
import { LiveProvider, useConnection } from './live-provider.tsx';
import './page.css';
import { PostList } from './post-list.tsx';
import { signOut, type User, whoAmI } from './session.ts';
import { SignIn } from './sign-in.tsx';

/** That of the service; empty if it is the origin of this page. */
const ORIGIN = '';

interface PageProps {
  readonly user: User;
  readonly onUser: (user: User | null) => void;
  /** Asks again who is signed in. */
  readonly onResumed: () => void;
}

function Page({ user, onUser, onResumed }: PageProps): ReactNode {
  const { state, retry } = useConnection();
  const isSignedOut = state.status === 'reconnecting' && state.reason === 'unauthenticated';
  const leave = useMutation({ mutationFn: () => signOut(ORIGIN), onSuccess: () => onUser(null) });
  // While the stream was broken, another tab may have signed in as somebody else.
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
          <p role="alert">{`Your session has ended. What you have typed is kept if ${user.name} signs in.`}</p>
          <SignIn
            origin={ORIGIN}
            onUser={(next) => {
              onUser(next);
              retry();
            }}
          />
        </>
      )}
      <PostList />
    </>
  );
}

const ME = ['me'];
const setUser = (next: User | null) => {
  // An answer that is on its way is older.
  void session.cancelQueries({ queryKey: ME });
  session.setQueryData(ME, next);
};
const askAgain = () => void session.invalidateQueries({ queryKey: ME });

function App(): ReactNode {
  const {
    data: user,
    error,
    refetch,
  } = useQuery({ queryKey: ME, queryFn: () => whoAmI(ORIGIN), retry: false });
  if (error !== null && user === undefined)
    return (
      <p role="alert">
        {error.message}{' '}
        <button type="button" onClick={() => void refetch()}>
          Try again
        </button>
      </p>
    );
  if (user === undefined) return null;
  if (user === null) return <SignIn origin={ORIGIN} onUser={setUser} />;
  return (
    <LiveProvider key={user.id} url={`${ORIGIN}/graphql`} userId={user.id}>
      <Page user={user} onUser={setUser} onResumed={askAgain} />
    </LiveProvider>
  );
}

const session = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={session}>
        <main>
          <App />
        </main>
      </QueryClientProvider>
    </StrictMode>,
  );
