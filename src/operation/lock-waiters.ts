import { type Cancellable, Line } from '../platform/line.ts';

interface Owner {
  readonly line: Line;
  waiting: number;
}

/**
 * Mutations that wait for row locks. While one of an owner waits, all of this owner's try one after the other: each try
 * may take 300 ms of a place for transactions, and whoever has locked a row of its own could fill all places.
 */
export class LockWaiters {
  readonly #owners = new Map<string | undefined, Owner>();
  readonly #maxWaiting: number;

  constructor(maxWaiting: number) {
    // Those that wait for a lock are under way already.
    this.#maxWaiting = Math.max(1, maxWaiting);
  }

  /** Runs a try at a mutation. Rejects with what it throws, and like a line. */
  run<T>(owner: string | undefined, tryOnce: () => Promise<T>, cancellation: Cancellable): Promise<T> {
    const known = this.#owners.get(owner);
    return known === undefined ? tryOnce() : known.line.run(owner, tryOnce, cancellation);
  }

  /** A mutation has met a lock. Returns a function that says that it waits no more, to be called once. */
  waits(owner: string | undefined): () => void {
    let known = this.#owners.get(owner);
    if (known === undefined) {
      known = { line: new Line({ places: 1, maxWaiting: this.#maxWaiting }), waiting: 0 };
      this.#owners.set(owner, known);
    }
    const waiter = known;
    waiter.waiting += 1;
    return () => {
      waiter.waiting -= 1;
      // Those in its line are waiting themselves, or go on from there.
      if (waiter.waiting === 0) this.#owners.delete(owner);
    };
  }
}
