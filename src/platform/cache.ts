/** Enough for the texts between two uses of one that is used often. */
const SLOTS = 8_192;

/** FNV-1a over the characters, as 32 bits; never 0, which stands for an empty slot. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash === 0 ? 1 : hash;
}

/**
 * Tells texts that come again from those that come once, without keeping any: a text displaces the one that had its
 * slot. Two texts with one hash count as the same, so it may only decide what is worth keeping.
 */
export class Doorkeeper {
  readonly #hashes = new Int32Array(SLOTS);

  /** Whether the text was seen before, not too long ago. From now on it was. */
  see(text: string): boolean {
    const hash = hashOf(text);
    // The low bits of FNV change least with the last characters.
    const slot = (hash ^ (hash >>> 16)) & (SLOTS - 1);
    const known = this.#hashes[slot] === hash;
    this.#hashes[slot] = hash;
    return known;
  }
}

/**
 * A map of at most `max` entries. A full one is cleared. Creating it takes 0.03 µs, an LRUCache 0.5 to 2, so that every
 * document can have some. An LRUCache is right for what the process keeps once.
 */
export class SmallMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    if (this.size >= this.#max && !this.has(key)) this.clear();
    return super.set(key, value);
  }
}

const MAX_MEMOIZED = 200;
const MAX_LENGTH = 200;

/**
 * Caches the results of a pure function, for inputs that nearly every request repeats, such as an Accept header. The
 * results for long inputs are not cached.
 */
export function memoize<T>(compute: (text: string) => T): (text: string) => T {
  const known = new SmallMap<string, T>(MAX_MEMOIZED);
  return (text) => {
    const found = known.get(text);
    if (found !== undefined || known.has(text)) return found as T;
    const result = compute(text);
    if (text.length <= MAX_LENGTH) known.set(text, result);
    return result;
  };
}
