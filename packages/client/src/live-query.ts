import { type ChangeSource, type Follower, findChangesInternals } from './changes.ts';
import type { Snapshot } from './client.ts';
import type { Document } from './documents.ts';
import { ContentGraphError } from './errors.ts';
import { findInternals } from './internals.ts';
import { applyItemChange, compareNewestFirst, type ItemChange, type ListPage, readId } from './live-list.ts';
import { linkSignals, reportCallbackError } from './platform.ts';
import { createReconnection, isReconnectable } from './reconnect.ts';
import { createStore, type Store } from './store.ts';

/** How a list is read, and how changes affect the list. */
export interface LiveQueryOptions<Data, Variables, Item, Change> {
  readonly document: Document<Data, Variables>;
  /** The variables for the page after a cursor, or for the first page. */
  readonly variables: (after: string | null) => Variables;
  /** The items of a result, for example by `readConnection`. */
  readonly list: (data: Data) => ListPage<Item>;
  /** What a change does to the list. Undefined if the change does not concern the list. */
  readonly changed: (change: Change) => ItemChange<Item> | undefined;
  /** The `id` of an item by default. */
  readonly key?: ((item: Item) => string) | undefined;
  /** As for `sort`: newest first by default. An item after the last item that was read belongs to a later page. */
  readonly order?: ((one: Item, other: Item) => number) | undefined;
  /** The first page as the server rendered it. It is not read again. */
  readonly initial?: Snapshot<Data> | undefined;
}

/** A list and what is known about it. */
export interface LiveList<Item> {
  /** Undefined until the first result. */
  readonly items: readonly Item[] | undefined;
  readonly hasMore: boolean;
  readonly isReading: boolean;
  /** Why the list could not be read. While `isReading` is true, the list is read again. */
  readonly error: ContentGraphError | undefined;
  /** When the list is read again after the error, in milliseconds since the epoch. */
  readonly retryAtMs: number | undefined;
}

/** A list that shows every change. */
export interface LiveQuery<Item> extends Store<LiveList<Item>> {
  /** Reads the next page. */
  more(): Promise<void>;
  /** Reads the list again, as far as before. */
  refresh(): Promise<void>;
  close(): void;
}

/** Reads a list and applies changes to it until it is closed. */
export function liveQuery<Data, Variables, Item extends object, Change>(
  changes: ChangeSource<Change>,
  options: LiveQueryOptions<Data, Variables, Item, Change>,
): LiveQuery<Item> {
  const { document, variables, list, changed, initial } = options;
  const order = { key: options.key ?? readId, order: options.order ?? compareNewestFirst };
  const shared = findChangesInternals(changes);
  const { client } = shared;
  const { clock, activity, lifetime: clientLifetime } = findInternals(client);
  const link = linkSignals(clientLifetime);
  const { signal } = link;
  const store = createStore<LiveList<Item>>({
    items: undefined,
    hasMore: false,
    isReading: false,
    error: undefined,
    retryAtMs: undefined,
  });
  const show = (next: Partial<LiveList<Item>>) => {
    if (!signal.aborted) store.set({ ...store.current, ...next });
  };
  let bound: Item | undefined;
  let nextCursor: string | null = null;
  /** True if a refresh is queued. */
  let isQueued = false;
  /** Changes since the read began: its result may not show them. */
  let recent: Change[] = [];
  let queue = Promise.resolve();

  function applyChange(change: Change): void {
    const found = changed(change);
    const { items } = store.current;
    if (found === undefined || items === undefined) return;
    show({ items: applyItemChange(items, found, order, nextCursor === null ? undefined : bound) });
  }

  function showItems(items: readonly Item[], more: string | null): void {
    const sorted = [...items].sort(order.order);
    bound = sorted.at(-1);
    nextCursor = more;
    show({ items: sorted, hasMore: more !== null });
  }

  const follower: Follower<Change> = {
    onChange(change) {
      if (signal.aborted) return;
      if (store.current.isReading) recent.push(change);
      applyChange(change);
    },
    onMissedEvents: () => void refresh(),
  };

  /** Reads one page, and repeats it for as long as it may succeed later. */
  async function readPage(after: string | null): Promise<ListPage<Item>> {
    const reconnection = createReconnection(clock, activity, (state) => {
      if (state.status === 'reconnecting') show({ error: state.error, retryAtMs: state.retryAtMs });
    });
    for (;;) {
      try {
        const { data, eventId } = await client.query(document, variables(after), {
          signal,
          showEventId: !shared.hasPosition(),
          onRetry: (error, retryAtMs) => show({ error, retryAtMs }),
        });
        if (eventId !== undefined && !shared.hasPosition()) shared.startAfter(eventId, follower);
        return list(data);
      } catch (error) {
        if (signal.aborted || !(error instanceof ContentGraphError) || !isReconnectable(error)) throw error;
        await reconnection.pause(error, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** Reads the next page, or again everything that was read before. */
  async function read(isNext: boolean): Promise<void> {
    if (signal.aborted || (isNext && nextCursor === null)) return;
    show({ isReading: true });
    await shared.greeted;
    if (!isNext) isQueued = false;
    recent = [];
    const found = new Map<string, Item>();
    const before = store.current.items ?? [];
    const wanted = isNext ? 1 : before.length;
    let after = isNext ? nextCursor : null;
    do {
      const page = await readPage(after);
      for (const item of page.items) found.set(order.key(item), item);
      after = page.more;
    } while (after !== null && found.size < wanted);
    // A change during the read may have altered the items of the pages before.
    if (isNext) for (const item of store.current.items ?? []) found.set(order.key(item), item);
    showItems([...found.values()], after);
    for (const change of recent) applyChange(change);
    show({ isReading: false, error: undefined, retryAtMs: undefined });
  }

  function enqueue(isNext: boolean): Promise<void> {
    queue = queue
      .then(() => read(isNext))
      .catch((error: unknown) => {
        isQueued = false;
        const known = error instanceof ContentGraphError ? error : undefined;
        show({ isReading: false, error: known, retryAtMs: undefined });
        if (!signal.aborted && !(error instanceof ContentGraphError)) reportCallbackError(error);
      });
    return queue;
  }

  function refresh(): Promise<void> {
    if (isQueued || signal.aborted) return queue;
    isQueued = true;
    return enqueue(false);
  }

  changes.follow(follower, signal);
  // A page that was rendered for another account is not shown.
  if (initial !== undefined && initial.identity === client.identity) {
    const page = list(initial.data);
    showItems(page.items, page.more);
    // A document that reads nothing from the database has no event id.
    if (initial.eventId === '') void refresh();
    else shared.startAfter(initial.eventId, follower);
  } else void refresh();
  return {
    get current() {
      return store.current;
    },
    subscribe: store.subscribe,
    more: () => enqueue(true),
    refresh,
    close() {
      link.abort();
      link.unlink();
    },
  };
}
