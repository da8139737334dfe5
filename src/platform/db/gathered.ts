/** How many reads may run at once before others are gathered: one that hangs must not hold up all. */
const MAX_RUNNING = 4;
const MAX_KEYS = 500;

interface Asked<Key, Value> {
  readonly key: Key;
  readonly waiters: { readonly resolve: (value: Value) => void; readonly reject: (error: unknown) => void }[];
}

/**
 * Reads single values with few statements when thousands are asked for at once: keys that come while enough reads
 * are running share the next one, in which keys of the same identity are one. `read` returns the values in the order of
 * the keys. Rejects with what it throws.
 */
export function gathered<Key, Value>(
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
  identityOf: (key: Key) => unknown = (key) => key,
): (key: Key) => Promise<Value> {
  const waiting = new Map<unknown, Asked<Key, Value>>();
  let running = 0;

  async function run(asked: readonly Asked<Key, Value>[]): Promise<void> {
    running += 1;
    try {
      const values = await read(asked.map(({ key }) => key));
      for (const [index, { waiters }] of asked.entries())
        for (const { resolve } of waiters) resolve(values[index] as Value);
    } catch (error) {
      for (const { waiters } of asked) for (const { reject } of waiters) reject(error);
    }
    running -= 1;
    if (waiting.size > 0 && running < MAX_RUNNING) void run(takeWaiting());
  }

  function takeWaiting(): Asked<Key, Value>[] {
    const taken = [...waiting].slice(0, MAX_KEYS);
    for (const [identity] of taken) waiting.delete(identity);
    return taken.map(([, asked]) => asked);
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const waiter = { resolve, reject };
      if (running < MAX_RUNNING) return void run([{ key, waiters: [waiter] }]);
      const identity = identityOf(key);
      const asked = waiting.get(identity);
      if (asked === undefined) waiting.set(identity, { key, waiters: [waiter] });
      else asked.waiters.push(waiter);
    });
}
