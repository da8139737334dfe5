/**
 * A cache of bounded weight that drops what was used least recently. Empty, it costs nothing: lru-cache allocates
 * several arrays as long as its maximum, several microseconds for a cache that every document has for itself.
 */
export class RecentlyUsed<Key, Value extends object | string> {
  readonly #maxWeight: number;
  readonly #weigh: (value: Value, key: Key) => number;
  /** In the order of their last use: a Map keeps the order of insertion. */
  readonly #entries = new Map<Key, Value>();
  #weight = 0;

  /** Without `weigh`, every entry weighs 1. */
  constructor(maxWeight: number, weigh: (value: Value, key: Key) => number = () => 1) {
    this.#maxWeight = maxWeight;
    this.#weigh = weigh;
  }

  /** The value, which counts as a use of it. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && this.#entries.size > 1) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  /** Keeps a value, unless it is heavier than the whole cache may be. */
  set(key: Key, value: Value): void {
    this.#drop(key);
    const weight = this.#weigh(value, key);
    if (weight > this.#maxWeight) return;
    this.#entries.set(key, value);
    this.#weight += weight;
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#maxWeight) return;
      this.#drop(oldest);
    }
  }

  #drop(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#weight -= this.#weigh(value, key);
    this.#entries.delete(key);
  }
}
