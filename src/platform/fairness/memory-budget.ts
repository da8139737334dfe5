const QUOTA_DIVISOR = 8;

/** V8 needs about this much memory for each value in addition to its content. */
const VALUE_BYTES = 32;

/**
 * Estimates the memory of a JSON value. A string takes two bytes for each character if one of its characters
 * is not Latin-1.
 */
export function bytesInMemory(value: unknown): number {
  if (typeof value === 'string')
    return VALUE_BYTES + (/[^\0-\xff]/.test(value) ? 2 * value.length : value.length);
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.values(value).reduce<number>((sum, member) => sum + bytesInMemory(member), VALUE_BYTES);
}

/** Frees memory until `isAvailable` returns true or no more memory can be freed. */
type FreeMemory = (isAvailable: () => boolean) => void;

/** Counts the bytes that this process uses for one purpose, in total and by owner. */
export class MemoryBudget {
  readonly maxBytes: number;
  /** The limit for one owner. */
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

  isWithinQuota(owner: string, bytes: number): boolean {
    return this.usedBy(owner) + bytes <= this.quotaBytes;
  }

  /**
   * Frees memory for more bytes if necessary.
   * @returns false if the memory is still not available
   */
  freeFor(bytes: number): boolean {
    const isAvailable = () => this.#bytes + bytes <= this.maxBytes;
    if (!isAvailable()) this.#free(isAvailable);
    return isAvailable();
  }

  /** Adds bytes, or subtracts them if the number is negative. Bytes without an owner count in the total only. */
  add(bytes: number, owner?: string): void {
    this.#bytes += bytes;
    if (owner === undefined) return;
    const used = this.usedBy(owner) + bytes;
    if (used > 0) this.#byOwner.set(owner, used);
    else this.#byOwner.delete(owner);
  }
}
