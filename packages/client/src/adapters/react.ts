import {
  type Context,
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import type { OperationResult } from '../calls.ts';
import type { ChangeSource } from '../changes.ts';
import type { Client } from '../client.ts';
import type { Document } from '../documents.ts';
import { ContentGraphError } from '../errors.ts';
import { type LiveList, type LiveQuery, type LiveQueryOptions, liveQuery } from '../live-query.ts';
import type { Store } from '../store.ts';
import type { StreamState } from '../stream-state.ts';

interface Connection {
  readonly client: Client;
  readonly changes: ChangeSource<never> | undefined;
}

const ConnectionContext: Context<Connection | undefined> = createContext<Connection | undefined>(undefined);

/** Properties of `ContentGraphProvider`. */
export interface ContentGraphProviderProps {
  readonly client: Client;
  /** For `useLiveQuery`. */
  readonly changes?: ChangeSource<never> | undefined;
  readonly children?: ReactNode;
}

/** Provides a client to the components inside. */
export function ContentGraphProvider({ client, changes, children }: ContentGraphProviderProps): ReactElement {
  const value = useMemo(() => ({ client, changes }), [client, changes]);
  return createElement(ConnectionContext, { value }, children);
}

function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (connection === undefined)
    throw new Error('This hook needs a ContentGraphProvider around the component.');
  return connection;
}

/** Returns the client of the provider. */
export function useClient(): Client {
  return useConnection().client;
}

/** Returns the value of a store, and renders again after each change. */
export function useStore<Value>(store: Store<Value>): Value {
  const subscribe = useCallback((onChange: () => void) => store.subscribe(onChange), [store]);
  const read = () => store.current;
  return useSyncExternalStore(subscribe, read, read);
}

/** Returns the worst state of all streams, for a banner. */
export function useConnectionState(): StreamState {
  return useStore(useClient().state);
}

/** A live list as a component shows it. */
export interface ShownList<Item> extends LiveList<Item> {
  /** Reads the next page. */
  more(): void;
  /** Reads the list again. */
  refresh(): void;
}

const UNREAD = {
  items: undefined,
  hasMore: false,
  isReading: true,
  error: undefined,
  retryAtMs: undefined,
};

/**
 * Reads a list and shows every change while the component is mounted.
 * @param options one object for the list, for example a constant of the module: another object reads another list
 */
export function useLiveQuery<Data, Variables, Item extends object, Change>(
  options: LiveQueryOptions<Data, Variables, Item, Change>,
): ShownList<Item> {
  const { client, changes } = useConnection();
  if (changes === undefined) throw new Error('useLiveQuery needs a ContentGraphProvider with "changes".');
  const followed: ChangeSource<Change> = changes;
  const initial = useMemo((): LiveList<Item> => {
    const { initial: snapshot, list } = options;
    if (snapshot === undefined || snapshot.identity !== client.identity) return UNREAD;
    const { items, more } = list(snapshot.data);
    return { ...UNREAD, items, hasMore: more !== null, isReading: false };
  }, [client, options]);
  const [shown, setShown] = useState<LiveList<Item>>(initial);
  const query = useRef<LiveQuery<Item>>(undefined);
  useEffect(() => {
    const opened = liveQuery(followed, options);
    query.current = opened;
    const stop = opened.subscribe(setShown);
    return () => {
      stop();
      opened.close();
      query.current = undefined;
    };
  }, [followed, options]);
  const more = useCallback(() => void query.current?.more(), []);
  const refresh = useCallback(() => void query.current?.refresh(), []);
  return { ...shown, more, refresh };
}

/** A mutation that takes effect once for what a person sends. */
export interface Once<Data, Variables> {
  readonly isSending: boolean;
  readonly error: ContentGraphError | undefined;
  /** The result of the last mutation that was executed. */
  readonly result: OperationResult<Data> | undefined;
  /** True if an earlier attempt may have taken effect. Sending the same again finds out. */
  readonly isOpen: boolean;
  /** Sends the mutation. @returns undefined if it failed, and then `error` is set */
  send(variables: Variables): Promise<OperationResult<Data> | undefined>;
  /** Forgets an attempt whose outcome is unknown: the next one is another task, even with equal variables. */
  discard(): void;
}

/**
 * Sends a mutation that takes effect once, also after a double click, a lost response or a reload.
 * @param name the name of the intent: one for each form
 */
export function useOnce<Data, Variables>(
  document: Document<Data, Variables>,
  name: string,
): Once<Data, Variables> {
  const client = useClient();
  const intent = useMemo(() => client.intent(name), [client, name]);
  const [state, setState] = useState<Pick<Once<Data, Variables>, 'isSending' | 'error' | 'result'>>({
    isSending: false,
    error: undefined,
    result: undefined,
  });
  const send = useCallback(
    async (variables: Variables) => {
      setState((before) => ({ ...before, isSending: true, error: undefined }));
      try {
        const result = await client.mutate(document, variables, { intent });
        setState({ isSending: false, error: undefined, result });
        return result;
      } catch (error) {
        if (!(error instanceof ContentGraphError)) {
          setState((before) => ({ ...before, isSending: false }));
          throw error;
        }
        setState((before) => ({ ...before, isSending: false, error }));
        return undefined;
      }
    },
    [client, document, intent],
  );
  const discard = useCallback(() => intent.discard(), [intent]);
  return { ...state, isOpen: intent.isOpen, send, discard };
}
