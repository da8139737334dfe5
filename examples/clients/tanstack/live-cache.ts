import { hashKey, type Query, QueryClient, type QueryKey } from '@tanstack/react-query';
import type { TadaDocumentNode } from 'gql.tada';
import { print } from 'graphql';
import { readAnswer } from '../../live/service.ts';
import type { Changes, ConnectionError } from '../../live.ts';
import type { Change } from './operations.ts';

declare module '@tanstack/react-query' {
  interface Register {
    /** `onChange` shows a change in the data of the query. */
    queryMeta: { readonly onChange?: (change: Change) => void };
  }
}

export interface ReadOptions {
  readonly queryKey: QueryKey;
  readonly signal: AbortSignal;
}

/**
 * A cache of TanStack Query whose queries are read once and follow the stream from then on. Nothing is stale before the
 * service says so. `onConnectionError` tells why the first answer does not come.
 */
export function createLiveCache(
  changes: Changes<Change>,
  onConnectionError: (error: ConnectionError) => void,
) {
  const client = new QueryClient({
    // What fails is repeated by `persist`, also when the network is back.
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false, networkMode: 'always' } },
  });
  const cache = client.getQueryCache();
  const lifetime = new AbortController();
  /** What came while a query was read: the answer may not show it, and replaces what did. */
  const since = new WeakMap<Query, Change[]>();

  const leave = cache.subscribe((event) => {
    if (event.type !== 'updated' || event.query.state.fetchStatus !== 'idle') return;
    const late = since.get(event.query) ?? [];
    since.delete(event.query);
    if (event.action.type === 'success') for (const change of late) event.query.meta?.onChange?.(change);
  });

  /**
   * Reads again what is shown, and forgets the rest: the next change would make it pass for current. `isOld` tells which
   * queries may lack a change.
   */
  function readAgain(isOld: (query: Query) => boolean = () => true): void {
    client.removeQueries({ type: 'inactive', predicate: isOld });
    void client.invalidateQueries({ predicate: isOld });
  }

  const follower = {
    onChange(change: Change): void {
      for (const query of cache.getAll()) {
        if (query.state.fetchStatus !== 'idle') since.set(query, [...(since.get(query) ?? []), change]);
        query.meta?.onChange?.(change);
      }
    },
    onLost: () => readAgain(),
  };
  changes.follow(follower, lifetime.signal);

  return {
    client,
    /** Reads by query. The stream begins after the event that the first answer names. */
    async read<Data, Variables extends Record<string, unknown>>(
      document: TadaDocumentNode<Data, Variables>,
      variables: Variables,
      { queryKey, signal }: ReadOptions,
    ): Promise<Data> {
      await changes.ready();
      const operation = { ...changes.service, query: print(document), variables };
      const ask = () =>
        readAnswer<Data>(operation, { answers: changes.answers, showsEventId: !changes.hasBegun(), signal });
      const tell = (error: ConnectionError) => changes.hasBegun() || onConnectionError(error);
      const answer = await changes.persist(ask, signal, tell);
      if (answer === undefined) throw signal.reason;
      if (answer.status === 'closed') {
        const { errors, httpStatus } = answer;
        const strange = `Something on the way has answered with status ${httpStatus}.`;
        throw new Error(errors.map(({ message }) => message).join('\n') || strange);
      }
      if (answer.eventId !== undefined && !changes.hasBegun()) {
        changes.begin(answer.eventId, follower);
        // What other queries were answered may be older than that.
        const hash = hashKey(queryKey);
        readAgain(({ queryHash }) => queryHash !== hash);
      }
      return answer.data;
    },
    close(): void {
      lifetime.abort();
      leave();
      client.clear();
    },
  };
}

export type LiveCache = ReturnType<typeof createLiveCache>;
