/** What V8 keeps beside a value, about. */
const VALUE_BYTES = 32;

/** An estimate of the memory of a value of JSON. A text takes two bytes a character once one of them needs it. */
export function bytesInMemory(value: unknown): number {
  if (typeof value === 'string')
    return VALUE_BYTES + (/[^\0-\xff]/.test(value) ? 2 * value.length : value.length);
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.values(value).reduce<number>((sum, member) => sum + bytesInMemory(member), VALUE_BYTES);
}

/** Bytes of memory by owner. */
export class OwnedBytes {
  readonly #byOwner = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  /** Takes bytes. Returns a function that gives them back, once. */
  take(owner: string, bytes: number): () => void {
    this.#add(owner, bytes);
    let taken = bytes;
    return () => {
      this.#add(owner, -taken);
      taken = 0;
    };
  }

  #add(owner: string, bytes: number): void {
    this.#total += bytes;
    const now = this.of(owner) + bytes;
    if (now > 0) this.#byOwner.set(owner, now);
    else this.#byOwner.delete(owner);
  }
}
