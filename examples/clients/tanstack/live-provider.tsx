import { QueryClientProvider } from '@tanstack/react-query';
import { createClient, openChanges, type SessionUser } from 'content-graph-client';
import { createLiveCache, type LiveCache } from 'content-graph-client/tanstack';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { type Change, ChangesSubscription } from './operations.ts';

export interface Connection {
  readonly cache: LiveCache<Change>;
  readonly user: SessionUser;
}

const ConnectionContext = createContext<Connection | undefined>(undefined);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined) throw new Error('useConnection needs a LiveProvider around the component.');
  return connection;
}

export interface LiveProviderProps {
  /** The URL of `/graphql`. */
  readonly url: string;
  /** Give the provider the id of the user as its `key`. */
  readonly user: SessionUser;
  readonly children: ReactNode;
}

/** Opens one client, one stream and one cache for the components inside. */
export function LiveProvider({ url, user, children }: LiveProviderProps): ReactNode {
  const [cache, setCache] = useState<LiveCache<Change>>();
  useEffect(() => {
    const client = createClient({ url, identity: user.id });
    const opened = createLiveCache(openChanges(client, ChangesSubscription, (data) => data.changes));
    setCache(opened);
    return () => {
      opened.close();
      client.close();
      setCache(undefined);
    };
  }, [url, user.id]);
  if (cache === undefined) return null;
  return (
    <QueryClientProvider client={cache.queryClient}>
      <ConnectionContext value={{ cache, user }}>{children}</ConnectionContext>
    </QueryClientProvider>
  );
}
