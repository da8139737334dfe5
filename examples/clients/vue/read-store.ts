import type { Store } from 'content-graph-client';
import { onScopeDispose, type ShallowRef, shallowRef } from 'vue';

/** Reads a store of the client, such as a live list, as a ref. */
export function readStore<Value>(store: Store<Value>): Readonly<ShallowRef<Value>> {
  const current = shallowRef(store.current);
  const stop = store.subscribe((value) => {
    current.value = value;
  });
  onScopeDispose(stop);
  return current;
}
