import { reportCallbackError } from './platform.ts';

/**
 * A value that changes. Svelte reads it as `$store`, React by `useSyncExternalStore`, Vue by `shallowRef`.
 */
export interface Store<Value> {
  /** The value now. */
  readonly current: Value;
  /** Calls the listener now and after each change. @returns a function that stops it */
  subscribe(listener: (value: Value) => void): () => void;
}

/** A store together with the function that changes its value. */
export interface WritableStore<Value> extends Store<Value> {
  set(value: Value): void;
}

/** Creates a store. An error of one listener reaches neither the caller of `set` nor the other listeners. */
export function createStore<Value>(initial: Value): WritableStore<Value> {
  let current = initial;
  const listeners = new Set<{ readonly call: (value: Value) => void }>();
  const notify = (call: (value: Value) => void) => {
    try {
      call(current);
    } catch (error) {
      reportCallbackError(error);
    }
  };
  return {
    get current() {
      return current;
    },
    set(value) {
      if (value === current) return;
      current = value;
      for (const { call } of [...listeners]) notify(call);
    },
    subscribe(listener) {
      // A function may subscribe twice.
      const entry = { call: listener };
      listeners.add(entry);
      notify(listener);
      return () => void listeners.delete(entry);
    },
  };
}
