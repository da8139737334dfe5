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
export class SeenBefore {
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
