import { setImmediate as nextTurn } from 'node:timers/promises';

type Read = (keys: readonly unknown[]) => Promise<readonly unknown[]>;

/** Keys that wait for the next round, of what is read in one way. */
interface Waiting {
  readonly keys: unknown[];
  readonly read: Read;
  readonly result: PromiseWithResolvers<readonly unknown[]>;
}

/**
 * Reads level by level: what is asked for while statements run waits until all of them are done, and goes together
 * then. However many fields ask, an operation has a few statements for each of its levels.
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
    // By the next turn all resolvers have asked that what was read last has given something to ask for.
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

/** From now on what the operation of this context loads is read in rounds. */
export function readInRounds(context: object): void {
  if (!roundsOf.has(context)) roundsOf.set(context, new Rounds());
}

export const readsInRounds = (context: object): boolean => roundsOf.has(context);

/**
 * The values of the keys, each at its key's place, as `read` gives them: at once, or in a round together with all other
 * keys of the kind. `kind` stands for one way to read, always with the same `read`.
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
