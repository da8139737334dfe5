/** One owner may use the bytes of a budget divided by this. */
const QUOTA_DIVISOR = 8;

/** What V8 keeps beside a value, about. */
const VALUE_BYTES = 32;

/** An estimate of the memory of a value of JSON. A string takes two bytes a character once one of them needs it. */
export function bytesInMemory(value: unknown): number {
  if (typeof value === 'string')
    return VALUE_BYTES + (/[^\0-\xff]/.test(value) ? 2 * value.length : value.length);
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.values(value).reduce<number>((sum, member) => sum + bytesInMemory(member), VALUE_BYTES);
}

/** Frees memory until `isAvailable` returns true or nothing is left that can be freed. */
type FreeMemory = (isAvailable: () => boolean) => void;

/** The bytes that this process spends on one purpose, in total and by owner. */
export class MemoryBudget {
  readonly maxBytes: number;
  /** The bytes that one owner may use. */
  readonly quotaBytes: number;
  readonly #free: FreeMemory;
  readonly #byOwner = new Map<string, number>();
  #bytes = 0;

  constructor(maxBytes: number, free: FreeMemory = () => undefined) {
    this.maxBytes = maxBytes;
    this.quotaBytes = maxBytes / QUOTA_DIVISOR;
    this.#free = free;
  }

  get bytes(): number {
    return this.#bytes;
  }

  usedBy(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  /** Returns false if the owner would exceed its quota. */
  isWithinQuota(owner: string, bytes: number): boolean {
    return this.usedBy(owner) + bytes <= this.quotaBytes;
  }

  /** Frees memory for more bytes if necessary. Returns false if the memory is still not available. */
  freeFor(bytes: number): boolean {
    const isAvailable = () => this.#bytes + bytes <= this.maxBytes;
    if (!isAvailable()) this.#free(isAvailable);
    return isAvailable();
  }

  /** Counts bytes, and negative ones when they are given back. Without an owner, they are in the total only. */
  add(bytes: number, owner?: string): void {
    this.#bytes += bytes;
    if (owner === undefined) return;
    const used = this.usedBy(owner) + bytes;
    if (used > 0) this.#byOwner.set(owner, used);
    else this.#byOwner.delete(owner);
  }
}
