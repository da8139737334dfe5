import type { Changes } from './live/changes.ts';
import type { ConnectionError } from './live/persistence.ts';
import { readAnswer } from './live/service.ts';

export {
  type Changes,
  type ChangesOptions,
  type LiveState,
  openChanges,
} from './live/changes.ts';
export type { ConnectionError } from './live/persistence.ts';

/**
 * Lists that stay true: what a query has answered, and since then every change. All lists of all tabs of a browser share
 * one event stream. Over HTTP/1.1 a browser opens at most six connections to a host, and each stream keeps one. Needs no
 * library: copy this file and the folder `live`.
 */
export interface LiveQueryOptions<Data, Item, Change> {
  /** What `openChanges` gave. */
  readonly changes: Changes<Change>;
  readonly query: string;
  /** The id under which the query is published: pages that have not changed are not sent again then. */
  readonly documentId?: string | undefined;
  /** The variables for the page after a cursor, or for the first page. */
  readonly variables?: (after: string | null) => Readonly<Record<string, unknown>>;
  /** The items of an answer, and the cursor for more of them; null after the last page. */
  readonly list: (data: Data) => { readonly items: readonly Item[]; readonly more: string | null };
  readonly key: (item: Item) => string;
  /** As for `sort`. What comes after the last item that was read belongs to a later page. */
  readonly order: (one: Item, other: Item) => number;
  /** What a change does to an item: null if it is gone or no longer belongs here. Undefined if it is none of these. */
  readonly changed: (change: Change) => { readonly key: string; readonly item: Item | null } | undefined;
  readonly onList: (list: LiveList<Item>) => void;
}

export interface LiveList<Item> {
  /** Undefined until the first answer. */
  readonly items: readonly Item[] | undefined;
  readonly hasMore: boolean;
  readonly isReading: boolean;
  /** Why it could not be read. */
  readonly connectionError: ConnectionError | undefined;
}

/** Reads a list and keeps it true until it is closed. */
export function liveQuery<Data, Item, Change>(options: LiveQueryOptions<Data, Item, Change>) {
  const { changes, query, documentId, variables = () => ({}), list, key, order, changed, onList } = options;
  const { answers } = changes;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  let items: readonly Item[] | undefined;
  /** The last item that was read: what comes after it belongs to a later page. */
  let bound: Item | undefined;
  let more: string | null = null;
  let connectionError: ConnectionError | undefined;
  let isReading = false;
  /** Whether it will be read from its beginning. */
  let isAwaited = false;
  /** What came since the read began: an answer may not show it. */
  let since: Change[] = [];
  let queue = Promise.resolve();

  const view = (): LiveList<Item> => ({ items, hasMore: more !== null, isReading, connectionError });
  const show = () => signal.aborted || onList(view());

  function fold(change: Change): void {
    const found = changed(change);
    if (found === undefined || items === undefined) return;
    const rest = items.filter((item) => key(item) !== found.key);
    const { item } = found;
    const isWithin = (one: Item) => more === null || bound === undefined || order(one, bound) <= 0;
    items =
      item !== null && (rest.length < items.length || isWithin(item)) ? [...rest, item].sort(order) : rest;
  }

  function take(change: Change): void {
    if (signal.aborted) return;
    if (isReading) since.push(change);
    fold(change);
    show();
  }

  function fail(next: ConnectionError): void {
    connectionError = next;
    isReading = next.status !== 'closed';
    show();
  }

  /** Reads the next page, or all that was read before once more. */
  async function read(isNext: boolean): Promise<void> {
    if (signal.aborted || (isNext && more === null)) return;
    isReading = true;
    show();
    await changes.ready();
    if (!isNext) isAwaited = false;
    since = [];
    const found = new Map<string, Item>();
    const wanted = isNext ? 1 : (items?.length ?? 0);
    let after = isNext ? more : null;
    do {
      const operation = { ...changes.service, query, documentId, variables: variables(after) };
      const ask = () => readAnswer<Data>(operation, { answers, showsEventId: !changes.hasBegun(), signal });
      const answer = await changes.persist(ask, signal, fail);
      if (answer === undefined) return;
      if (answer.status === 'closed') return fail(answer);
      if (answer.eventId !== undefined) changes.begin(answer.eventId, follower);
      const page = list(answer.data);
      for (const item of page.items) found.set(key(item), item);
      after = page.more;
    } while (after !== null && found.size < wanted);
    if (isNext) for (const item of items ?? []) found.set(key(item), item);
    items = [...found.values()].sort(order);
    bound = items.at(-1);
    more = after;
    for (const change of since) fold(change);
    isReading = false;
    connectionError = undefined;
    show();
  }

  function enqueue(isNext: boolean): Promise<void> {
    queue = queue
      .then(() => read(isNext))
      .catch((error: unknown) => {
        // An error of the page's own code, in `list` or `onList`, is reported like any other, and ends no later reading.
        isReading = isAwaited = false;
        reportError(error);
      });
    return queue;
  }

  function refresh(): Promise<void> {
    if (isAwaited || signal.aborted) return queue;
    isAwaited = true;
    return enqueue(false);
  }

  const follower = { onChange: take, onLost: () => void refresh() };
  changes.follow(follower, signal);
  void refresh();
  return {
    /** Reads it again. */
    refresh,
    /** Reads the next page. */
    more: () => enqueue(true),
    /** Nothing is called after this. */
    close: () => lifetime.abort(),
  };
}

export type LiveQuery = ReturnType<typeof liveQuery>;
