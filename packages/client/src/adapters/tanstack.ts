import {
  hashKey,
  type InfiniteData,
  type Query,
  QueryClient,
  type QueryKey,
  type UseMutationResult,
  useMutation,
} from '@tanstack/react-query';
import type { OperationResult } from '../calls.ts';
import { type Changes, type Follower, findChangesInternals } from '../changes.ts';
import type { Client } from '../client.ts';
import { type Document, serializeDocument } from '../documents.ts';
import type { ContentGraphError } from '../errors.ts';
import { compareNewestFirst, type ItemChange, type ListPage, readId } from '../live-list.ts';

/** A cache of TanStack Query whose queries are read once and then follow the changes. */
export interface LiveCache<Change> {
  /** For `QueryClientProvider`. */
  readonly queryClient: QueryClient;
  readonly client: Client;
  readonly changes: Changes<Change>;
  /** Reads a document for a query that follows the changes. */
  read<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    options: { readonly queryKey: QueryKey; readonly signal: AbortSignal },
  ): Promise<Data>;
  close(): void;
}

/** Creates the cache. Nothing is stale before the service says so. */
export function createLiveCache<Change>(changes: Changes<Change>): LiveCache<Change> {
  const shared = findChangesInternals(changes);
  const { client } = shared;
  const queryClient = new QueryClient({
    // The client repeats what fails, also when the network is back.
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false, networkMode: 'always' } },
  });
  const cache = queryClient.getQueryCache();
  const lifetime = new AbortController();
  /** Changes that arrive while a query is pending: its result may not show them, and replaces what did. */
  const recent = new WeakMap<Query, Change[]>();

  function applyChange(query: Query, change: Change): void {
    const { onChange }: { onChange?: (change: Change) => void } = { ...query.meta };
    onChange?.(change);
  }

  const leave = cache.subscribe((event) => {
    if (event.type !== 'updated' || event.query.state.fetchStatus !== 'idle') return;
    const late = recent.get(event.query) ?? [];
    recent.delete(event.query);
    if (event.action.type === 'success') for (const change of late) applyChange(event.query, change);
  });

  /** Reads again what is shown, and removes the rest: the next change would make it look current. */
  function readAgain(predicate: (query: Query) => boolean): void {
    queryClient.removeQueries({ type: 'inactive', predicate });
    void queryClient.invalidateQueries({ predicate });
  }

  const follower: Follower<Change> = {
    onChange(change) {
      for (const query of cache.getAll()) {
        if (query.state.fetchStatus !== 'idle') recent.set(query, [...(recent.get(query) ?? []), change]);
        applyChange(query, change);
      }
    },
    onMissedEvents: () => readAgain(() => true),
  };
  changes.follow(follower, lifetime.signal);

  return {
    queryClient,
    client,
    changes,
    async read(document, variables, { queryKey, signal }) {
      await shared.greeted;
      const showEventId = !shared.hasPosition();
      const { data, eventId } = await client.query(document, variables, { signal, showEventId });
      if (eventId !== undefined && !shared.hasPosition()) {
        shared.startAfter(eventId, follower);
        // The results of other queries may be older.
        const hash = hashKey(queryKey);
        readAgain(({ queryHash }) => queryHash !== hash);
      }
      return data;
    },
    close() {
      lifetime.abort();
      leave();
      queryClient.clear();
    },
  };
}

/** The pages of a list in the cache. */
export type LivePages<Item> = InfiniteData<ListPage<Item>, string | null>;

/** How `livePages` reads a list. */
export interface LivePagesOptions<Data, Variables, Item, Change> {
  readonly document: Document<Data, Variables>;
  readonly variables: (after: string | null) => Variables;
  readonly list: (data: Data) => ListPage<Item>;
  readonly changed: (change: Change) => ItemChange<Item> | undefined;
  /** By default, the document and the variables of the first page. */
  readonly queryKey?: QueryKey | undefined;
  readonly key?: ((item: Item) => string) | undefined;
  readonly order?: ((one: Item, other: Item) => number) | undefined;
}

/** What `useInfiniteQuery` takes. */
export interface LivePagesQuery<Item> {
  readonly queryKey: QueryKey;
  readonly queryFn: (context: {
    readonly queryKey: QueryKey;
    readonly signal: AbortSignal;
    readonly pageParam: string | null;
  }) => Promise<ListPage<Item>>;
  readonly initialPageParam: string | null;
  readonly getNextPageParam: (page: ListPage<Item>) => string | null;
  readonly meta: Record<string, unknown>;
}

/** Shows a change in the pages of a list. */
function applyToPages<Item>(
  list: LivePages<Item>,
  { key, item }: ItemChange<Item>,
  keyOf: (item: Item) => string,
  order: (one: Item, other: Item) => number,
): LivePages<Item> {
  const isListed = list.pages.some(({ items }) => items.some((one) => keyOf(one) === key));
  if (item === null || isListed) {
    const replacement = item === null ? [] : [item];
    const pages = list.pages.map((page) => ({
      ...page,
      items: page.items.flatMap((one) => (keyOf(one) === key ? replacement : [one])),
    }));
    return { ...list, pages };
  }
  // An item after all that was read belongs to a later page.
  const place = list.pages.findIndex(
    ({ items, more }) => more === null || items.some((one) => order(item, one) < 0),
  );
  const pages = list.pages.map((page, index) =>
    index === place ? { ...page, items: [...page.items, item].sort(order) } : page,
  );
  return { ...list, pages };
}

/** Creates the options of `useInfiniteQuery` for a list that shows every change. */
export function livePages<Data, Variables, Item extends object, Change>(
  cache: LiveCache<Change>,
  options: LivePagesOptions<Data, Variables, Item, Change>,
): LivePagesQuery<Item> {
  const { document, variables, list, changed, key = readId, order = compareNewestFirst } = options;
  const queryKey = options.queryKey ?? [serializeDocument(document), variables(null)];
  const onChange = (change: Change) => {
    const found = changed(change);
    if (found === undefined) return;
    cache.queryClient.setQueryData<LivePages<Item>>(queryKey, (pages) =>
      pages === undefined ? undefined : applyToPages(pages, found, key, order),
    );
  };
  return {
    queryKey,
    queryFn: async ({ pageParam, signal }) =>
      list(await cache.read(document, variables(pageParam), { queryKey, signal })),
    initialPageParam: null,
    getNextPageParam: ({ more }) => more,
    meta: { onChange },
  };
}

/** The result of a mutation, and a function that shows its change before the stream brings it. */
export interface OnceResult<Data, Change> extends OperationResult<Data> {
  /** Does nothing for a replayed result, which may be older than what the stream brought. */
  showChange(change: Change): void;
}

/**
 * Sends a mutation that takes effect once, also after a double click, a lost response or a reload.
 * @param name the name of the intent: one for each form
 */
export function useOnceMutation<Data, Variables, Change>(
  { client, changes }: LiveCache<Change>,
  document: Document<Data, Variables>,
  name: string,
): UseMutationResult<OnceResult<Data, Change>, ContentGraphError, Variables> & { discard(): void } {
  const intent = client.intent(name);
  const mutation = useMutation<OnceResult<Data, Change>, ContentGraphError, Variables>({
    // The client repeats the mutation itself. Paused by TanStack Query, it would have no time budget.
    networkMode: 'always',
    async mutationFn(variables) {
      const showChange = changes.optimisticChange();
      const result = await client.mutate(document, variables, { intent });
      return { ...result, showChange: result.replayed ? () => undefined : showChange };
    },
  });
  return { ...mutation, discard: () => intent.discard() };
}
