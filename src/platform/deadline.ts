/** Calls back what is not done in time. All that is set has the same time, so what was set first is due first. */
export interface Deadline {
  /** Sets a callback for the time from now. Returns what takes it off again. */
  set(callback: () => void): () => void;
}

interface Entry {
  readonly dueMs: number;
  /** Undefined once it is done: what it knows of a request must not stay with the entry. */
  callback: (() => void) | undefined;
}

/** So many places at the front of the queue are left empty before it is moved up. */
const MAX_EMPTY = 1_024;

/**
 * One timer for all: most of what is set is done long before, and a timer of its own for each is not free. The queue is
 * an array, not a Set: a Set that entries come to and go from is copied again and again, and each copy, once old, keeps
 * from the young garbage collection what the next one holds.
 */
export function createDeadline(timeMs: number): Deadline {
  // In the order of their being set, from `first` on.
  let entries: (Entry | undefined)[] = [];
  let first = 0;
  let timer: NodeJS.Timeout | undefined;

  /** The first that is not done. What is done in front of it leaves. */
  function next(): Entry | undefined {
    while (first < entries.length && entries[first]?.callback === undefined) {
      entries[first] = undefined;
      first += 1;
    }
    if (first > MAX_EMPTY) {
      entries = entries.slice(first);
      first = 0;
    }
    return entries[first];
  }

  function wait(): void {
    const entry = next();
    timer =
      entry === undefined
        ? undefined
        : setTimeout(fire, Math.max(1, entry.dueMs - performance.now())).unref();
  }

  function fire(): void {
    const nowMs = performance.now();
    for (let entry = next(); entry !== undefined && entry.dueMs <= nowMs; entry = next()) {
      const { callback } = entry;
      entry.callback = undefined;
      callback?.();
    }
    wait();
  }

  return {
    set(callback) {
      next();
      const entry: Entry = { dueMs: performance.now() + timeMs, callback };
      entries.push(entry);
      if (timer === undefined) wait();
      return () => {
        entry.callback = undefined;
      };
    },
  };
}
