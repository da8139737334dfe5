const QUOTA_DIVISOR = 8;

/** An estimate of V8's memory for each value in addition to its content. */
const VALUE_BYTES = 32;

/** V8 stores two bytes for each character of a string that is not Latin-1. */
export function bytesInMemory(value: unknown): number {
  if (typeof value === 'string')
    return VALUE_BYTES + (/[^\0-\xff]/.test(value) ? 2 * value.length : value.length);
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  return Object.values(value).reduce<number>((sum, member) => sum + bytesInMemory(member), VALUE_BYTES);
}

type FreeMemory = (isAvailable: () => boolean) => void;

export class MemoryBudget {
  readonly maxBytes: number;
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

  /** @returns false if the memory is still not available */
  freeFor(bytes: number): boolean {
    const isAvailable = () => this.#bytes + bytes <= this.maxBytes;
    if (!isAvailable()) this.#free(isAvailable);
    return isAvailable();
  }

  /** Bytes without an owner count in the total only. */
  add(bytes: number, owner?: string): void {
    this.#bytes += bytes;
    if (owner === undefined) return;
    const used = this.usedBy(owner) + bytes;
    if (used > 0) this.#byOwner.set(owner, used);
    else this.#byOwner.delete(owner);
  }
}
