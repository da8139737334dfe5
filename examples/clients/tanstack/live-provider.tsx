import { QueryClientProvider } from '@tanstack/react-query';
import { print } from 'graphql';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react';
import type { Changes, ConnectionError, LiveState } from '../../live.ts';
import { type Api, createApi } from '../gql-tada/api.ts';
import { useChanges } from '../react/use-live.ts';
import { createLiveCache, type LiveCache } from './live-cache.ts';
import { type Change, ChangesSubscription } from './operations.ts';

export interface Connection {
  readonly cache: LiveCache;
  readonly api: Api;
  /** Whose session it is. */
  readonly userId: string;
  readonly state: LiveState;
  /** Called before a mutation is sent: shows at once what it has changed. The stream brings it to the others. */
  readonly optimisticChange: Changes<Change>['optimisticChange'];
  /** Ends the pause before the next attempt, for example after signing in again. */
  readonly retry: () => void;
}

const ConnectionContext = createContext<Connection | undefined>(undefined);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined) throw new Error('useConnection needs a LiveProvider around it');
  return connection;
}

export interface LiveProviderProps {
  /** The address of `/graphql`. */
  readonly url: string;
  readonly userId: string;
  readonly children: ReactNode;
}

/** One stream and one cache for the components inside. */
export function LiveProvider({ url, userId, children }: LiveProviderProps): ReactNode {
  const operation = useMemo(() => ({ url, query: print(ChangesSubscription) }), [url]);
  const api = useMemo(() => createApi(url), [url]);
  const { changes, state } = useChanges<Change>(operation, userId);
  const [connectionError, setConnectionError] = useState<ConnectionError>();
  const [cache, setCache] = useState<LiveCache>();
  useEffect(() => {
    if (changes === undefined) return;
    const opened = createLiveCache(changes, setConnectionError);
    setCache(opened);
    return () => {
      opened.close();
      setCache(undefined);
      setConnectionError(undefined);
    };
  }, [changes]);
  if (changes === undefined || cache === undefined) return null;
  // The stream begins after the first answer: until then, what keeps that away is what there is to say.
  const shown = state.status === 'connecting' ? (connectionError ?? state) : state;
  return (
    <QueryClientProvider client={cache.client}>
      <ConnectionContext
        value={{
          cache,
          api,
          userId,
          state: shown,
          optimisticChange: changes.optimisticChange,
          retry: changes.retry,
        }}
      >
        {children}
      </ConnectionContext>
    </QueryClientProvider>
  );
}
