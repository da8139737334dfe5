/** How many reads may run at once before further keys are batched: one read that hangs must not block all. */
const MAX_RUNNING = 4;
const MAX_KEYS = 500;

interface Asked<Key, Value> extends PromiseWithResolvers<Value> {
  readonly key: Key;
}

/**
 * Batches reads of single values: keys that arrive while enough reads are running share the next read, in which keys of
 * the same identity count once. `read` returns the values in the order of the keys. Rejects with what it throws.
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
      for (const [index, { resolve }] of asked.entries()) resolve(values[index] as Value);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
    running -= 1;
    if (waiting.size > 0 && running < MAX_RUNNING) void run(takeWaiting());
  }

  function takeWaiting(): Asked<Key, Value>[] {
    const taken = [...waiting].slice(0, MAX_KEYS);
    for (const [identity] of taken) waiting.delete(identity);
    return taken.map(([, asked]) => asked);
  }

  return (key) => {
    const identity = identityOf(key);
    const known = waiting.get(identity);
    if (known !== undefined) return known.promise;
    const asked = { key, ...Promise.withResolvers<Value>() };
    if (running < MAX_RUNNING) void run([asked]);
    else waiting.set(identity, asked);
    return asked.promise;
  };
}
