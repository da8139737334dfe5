import { setImmediate as nextTurn } from 'node:timers/promises';
import { gathered } from '../../platform/db/gathered.ts';

type Batches = Map<object, (key: never) => Promise<unknown>>;

/** The batches of each context whose loads are read in rounds, by kind of key. */
const batchesOf = new WeakMap<object, Batches>();

/**
 * From now on, the loads of this context are read level by level. Keys that are requested while a statement runs wait for
 * it and are then read together, so that an operation takes a few statements per level, however many fields request keys.
 */
export function readInRounds(context: object): void {
  if (!batchesOf.has(context)) batchesOf.set(context, new Map());
}

/**
 * Reads the values of the keys, in their order: immediately, or in a round together with all other keys of the kind. A
 * `kind` always comes with the same `read`.
 */
export async function inRound<Key, Value>(
  context: object,
  kind: object,
  keys: readonly Key[],
  read: (keys: readonly Key[]) => Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  const batches = batchesOf.get(context);
  if (batches === undefined) return read(keys);
  let load = batches.get(kind) as ((key: Key) => Promise<Value>) | undefined;
  if (load === undefined) {
    // By the next turn of the event loop, all resolvers fed by the last round have requested their keys.
    load = gathered(read, { maxRunning: 1, maxKeys: Number.POSITIVE_INFINITY, pause: nextTurn });
    batches.set(kind, load);
  }
  return Promise.all(keys.map(load));
}
