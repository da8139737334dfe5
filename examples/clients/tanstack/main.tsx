import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { type ReactNode, StrictMode } from 'react';
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
}

function Page({ user, onUser }: PageProps): ReactNode {
  const { state, retry } = useConnection();
  const isSignedOut = state.status === 'reconnecting' && state.reason === 'unauthenticated';
  return (
    <>
      <header>
        <h1>Posts</h1>
        <p role="status">{`${user.name}: ${state.status}`}</p>
        <button type="button" onClick={() => void signOut(ORIGIN).then(() => onUser(null))}>
          Sign out
        </button>
      </header>
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

function App(): ReactNode {
  const {
    data: user,
    error,
    refetch,
  } = useQuery({ queryKey: ME, queryFn: () => whoAmI(ORIGIN), retry: false });
  const setUser = (next: User | null) => session.setQueryData(ME, next);
  if (error !== null)
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
      <Page user={user} onUser={setUser} />
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
