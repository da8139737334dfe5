import { useEffect, useState } from 'react';
import {
  type Changes,
  type ChangesOptions,
  type LiveList,
  type LiveQueryOptions,
  type LiveState,
  liveQuery,
  openChanges,
} from '../../live.ts';

/** One object for the lifetime of the page: a new one opens the stream again. */
export type ChangesOperation = Omit<ChangesOptions, 'identity' | 'onState'>;

export interface Live<Change> {
  /** Undefined until the component is mounted. */
  readonly changes: Changes<Change> | undefined;
  readonly state: LiveState;
}

/** Opens the stream that all tabs share, for as long as the component is mounted. */
export function useChanges<Change>(operation: ChangesOperation, identity: string): Live<Change> {
  const [live, setLive] = useState<Live<Change>>({ changes: undefined, state: { status: 'connecting' } });
  useEffect(() => {
    const changes = openChanges<Change>({
      ...operation,
      identity,
      onState: (state) => setLive((before) => ({ ...before, state })),
    });
    setLive({ changes, state: { status: 'connecting' } });
    // StrictMode mounts twice: the first stream has not been asked for by then.
    return () => changes.close();
  }, [operation, identity]);
  return live;
}

/** One object for a list: a new one reads it again. */
export type ListOptions<Data, Item, Change> = Omit<
  LiveQueryOptions<Data, Item, Change>,
  'changes' | 'onList'
>;

export interface ShownList<Item> extends LiveList<Item> {
  /** Reads the next page. */
  more(): void;
}

const NOTHING = { items: undefined, hasMore: false, isReading: true, connectionError: undefined, more() {} };

/** A list that stays true while the component is mounted: read first, then every change since. */
export function useLiveList<Data, Item, Change>(
  changes: Changes<Change> | undefined,
  options: ListOptions<Data, Item, Change>,
): ShownList<Item> {
  const [list, setList] = useState<ShownList<Item>>(NOTHING);
  useEffect(() => {
    if (changes === undefined) return;
    const live = liveQuery<Data, Item, Change>({
      ...options,
      changes,
      onList: (next) => setList({ ...next, more: () => void live.more() }),
    });
    return () => {
      live.close();
      setList(NOTHING);
    };
  }, [changes, options]);
  return list;
}
