/** How many reads may run at once before others are gathered: one that hangs must not hold up all. */
const MAX_RUNNING = 4;
const MAX_KEYS = 500;

interface Asked<Key, Value> {
  readonly key: Key;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads single values with few statements when thousands are asked for at once: keys that come while enough reads
 * are running share the next one. `read` returns the values in the order of the keys. Rejects with what it throws.
 */
export function gathered<Key, Value>(
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
): (key: Key) => Promise<Value> {
  const waiting: Asked<Key, Value>[] = [];
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
    if (waiting.length > 0 && running < MAX_RUNNING) void run(waiting.splice(0, MAX_KEYS));
  }

  return (key) =>
    new Promise((resolve, reject) => {
      const asked = { key, resolve, reject };
      if (running < MAX_RUNNING) void run([asked]);
      else waiting.push(asked);
    });
}
