import { setImmediate as nextTurn } from 'node:timers/promises';

type Read = (keys: readonly unknown[]) => Promise<readonly unknown[]>;

/** Keys of one kind that wait for the next round. */
interface Waiting {
  readonly keys: unknown[];
  readonly read: Read;
  readonly result: PromiseWithResolvers<readonly unknown[]>;
}

/**
 * Reads level by level. Keys requested while statements run wait until all of them are done, and are then
 * read together. However many fields request keys, an operation takes a few statements per level.
 */
class Rounds {
  #waiting = new Map<object, Waiting>();
  #running = false;

  async add(kind: object, keys: readonly unknown[], read: Read): Promise<readonly unknown[]> {
    let waiting = this.#waiting.get(kind);
    if (waiting === undefined) {
      waiting = { keys: [], read, result: Promise.withResolvers() };
      this.#waiting.set(kind, waiting);
    }
    const first = waiting.keys.length;
    waiting.keys.push(...keys);
    if (!this.#running) void this.#run();
    return (await waiting.result.promise).slice(first, first + keys.length);
  }

  async #run(): Promise<void> {
    this.#running = true;
    // By the next turn of the event loop, all resolvers fed by the last round have requested their keys.
    for (await nextTurn(); this.#waiting.size > 0; await nextTurn()) {
      const round = [...this.#waiting.values()];
      this.#waiting = new Map();
      const reads = round.map(({ keys, read, result }) => read(keys).then(result.resolve, result.reject));
      await Promise.all(reads);
    }
    this.#running = false;
  }
}

const roundsOf = new WeakMap<object, Rounds>();

/** From now on, the loads of this context are read in rounds. */
export function readInRounds(context: object): void {
  if (!roundsOf.has(context)) roundsOf.set(context, new Rounds());
}

export const readsInRounds = (context: object): boolean => roundsOf.has(context);

/**
 * Reads the values of the keys, in their order: at once, or in a round together with all other keys of the
 * kind. A `kind` always comes with the same `read`.
 */
export async function inRound<Key, Value>(
  context: object,
  kind: object,
  keys: readonly Key[],
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  const rounds = roundsOf.get(context);
  if (rounds === undefined) return read(keys);
  return (await rounds.add(kind, keys, read as Read)) as readonly Value[];
}
