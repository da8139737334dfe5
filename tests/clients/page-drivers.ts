import './document.ts';
import { QueryClientProvider, useInfiniteQuery } from '@tanstack/react-query';
import { createElement, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { onTestFinished } from 'vitest';
import {
  ContentGraphProvider,
  useConnectionState,
  useLiveQuery,
  useOnce,
} from '../../packages/client/src/adapters/react.ts';
import {
  createLiveCache,
  type LiveCache,
  livePages,
  useOnceMutation,
} from '../../packages/client/src/adapters/tanstack.ts';
import { type Client, openChanges, type StreamState } from '../../packages/client/src/index.ts';
import { json } from '../support/client/service-stub.ts';
import { until } from '../support/processes/process.ts';
import { type Arrival, arrivalOf, type Documents, type Driver, STUB, type Tick } from './adapter-drivers.ts';

/** An item of the list: what the query returned, or a change. Each change is an item, so that none hides another. */
interface Item {
  readonly id: string;
  readonly value: unknown;
  readonly arrival?: Arrival;
}

interface Titles {
  readonly titles: readonly unknown[];
}

/** What the hooks return in one rendering. */
interface Shown {
  readonly items: readonly Item[] | undefined;
  readonly error: Error | null | undefined;
  readonly state: StreamState;
}

function createList(documents: Documents) {
  let changes = 0;
  return {
    document: documents.query,
    variables: () => ({}),
    list: ({ titles }: Titles) => ({
      items: titles.map((value): Item => ({ id: '', value })),
      more: null,
    }),
    changed(tick: Tick) {
      changes += 1;
      const key = String(changes).padStart(4, '0');
      return { key, item: { id: key, value: tick, arrival: arrivalOf(tick) } };
    },
    order: (one: Item, other: Item) => (one.id < other.id ? -1 : 1),
  };
}

/** Renders a component until the test ends. @returns the last value that it rendered, and a function that removes it */
function renderValue<Value>(useValue: () => Value, wrap: (node: ReactNode) => ReactNode) {
  let shown: Value | undefined;
  const listeners = new Set<(value: Value) => void>();
  function Component(): ReactNode {
    const value = useValue();
    shown = value;
    for (const listener of listeners) listener(value);
    return null;
  }
  const root = createRoot(document.body.appendChild(document.createElement('main')));
  root.render(wrap(createElement(Component)));
  let isMounted = true;
  const unmount = () => {
    if (isMounted) root.unmount();
    isMounted = false;
  };
  onTestFinished(unmount);
  return {
    find: <Found>(ask: (value: Value) => Found | undefined | false) =>
      until('the rendering', () => shown !== undefined && ask(shown)),
    onRender: (listener: (value: Value) => void) => void listeners.add(listener),
    unmount,
  };
}

/** One page: its list, its mutation, and what provides both with the client. */
interface PageHooks {
  useList(): Shown;
  /** @returns a function that sends the mutation, and the error of the last attempt */
  useSend(name: string): {
    readonly send: (variables: {
      readonly title: string;
    }) => Promise<{ data: { create: unknown } } | undefined>;
    readonly error: Error | null | undefined;
  };
  wrap(node: ReactNode): ReactNode;
  close(): void;
}

function drivePage(openPage: () => PageHooks): Driver {
  return {
    // The position of the list is where the stream begins.
    beforeStream: [json({ data: { titles: [] }, extensions: { eventId: 'p0' } })],
    async query() {
      const page = openPage();
      const { find, unmount } = renderValue(page.useList, page.wrap);
      const { items, error } = await find((value) => ((value.items ?? value.error) ? value : undefined));
      unmount();
      page.close();
      if (items === undefined) throw error;
      return items.map(({ value }) => value);
    },
    async mutate(title, name) {
      const page = openPage();
      const { find, unmount } = renderValue(() => page.useSend(name), page.wrap);
      const { send } = await find((value) => value);
      try {
        const result = await send({ title });
        if (result === undefined) throw await find(({ error }) => error ?? undefined);
        return result.data.create;
      } finally {
        unmount();
        page.close();
      }
    },
    follow(_after, onArrival) {
      const page = openPage();
      let count = 0;
      let isClosed = false;
      const { onRender, unmount } = renderValue(page.useList, page.wrap);
      onRender(({ items = [], state }) => {
        const arrivals = items.flatMap(({ arrival }) => arrival ?? []);
        for (const arrival of arrivals.slice(count)) onArrival(arrival);
        count = arrivals.length;
        if (state.status === 'closed' && state.error !== undefined && !isClosed) onArrival(state.error.code);
        isClosed = state.status === 'closed';
      });
      return () => {
        unmount();
        page.close();
      };
    },
  };
}

export function driveReact(client: Client, documents: Documents = STUB): Driver {
  return drivePage(() => {
    const changes = openChanges<Tick, Tick>(client, documents.subscription, (tick) => tick);
    const list = createList(documents);
    return {
      useList() {
        const { items, error, isReading } = useLiveQuery<Titles, object, Item, Tick>(list);
        // While the list is read again, the error is that of an attempt.
        return { items, error: isReading ? undefined : error, state: useConnectionState() };
      },
      useSend: (name) => useOnce<{ create: unknown }, { readonly title: string }>(documents.mutation, name),
      wrap: (node) => createElement(ContentGraphProvider, { client, changes }, node),
      close: () => changes.close(),
    };
  });
}

export function driveTanStack(client: Client, documents: Documents = STUB): Driver {
  return drivePage(() => {
    const changes = openChanges<Tick, Tick>(client, documents.subscription, (tick) => tick);
    const cache: LiveCache<Tick> = createLiveCache(changes);
    const pages = livePages<Titles, object, Item, Tick>(cache, createList(documents));
    return {
      useList() {
        const { data, error } = useInfiniteQuery(pages);
        return { items: data?.pages.flatMap(({ items }) => items), error, state: useConnectionState() };
      },
      useSend(name) {
        const { mutateAsync, error } = useOnceMutation<{ create: unknown }, { readonly title: string }, Tick>(
          cache,
          documents.mutation,
          name,
        );
        return { send: mutateAsync, error };
      },
      wrap: (node) =>
        createElement(
          QueryClientProvider,
          { client: cache.queryClient },
          createElement(ContentGraphProvider, { client, changes }, node),
        ),
      close() {
        cache.close();
        changes.close();
      },
    };
  });
}
