import { LRUCache } from 'lru-cache';

const HALF_LIFE_MS = 2_000;
const MAX_OWNERS = 10_000;
/** Weights double with every half-life, so they are rescaled long before they overflow at 2^1023. */
const MAX_HALF_LIVES = 500;

/**
 * Recent usage of a resource by owner. Later usage gets a larger weight instead of decaying the earlier
 * usage, so comparing two owners needs no clock.
 */
export class DecayingUsage {
  readonly #weights = new LRUCache<string, number>({ max: MAX_OWNERS });
  #startMs = performance.now();

  /**
   * Work without an owner belongs to the service itself and is not counted.
   * @returns the weight of the usage, for `takeBack`
   */
  add(owner: string | undefined, ms: number): number {
    if (owner === undefined || ms <= 0) return 0;
    const halfLives = (performance.now() - this.#startMs) / HALF_LIFE_MS;
    if (halfLives > MAX_HALF_LIVES) this.#rescale(halfLives);
    const weight = ms * this.msWeight;
    this.#weights.set(owner, (this.#weights.get(owner) ?? 0) + weight);
    return weight;
  }

  takeBack(owner: string, weight: number): void {
    this.#weights.set(owner, Math.max(0, (this.#weights.get(owner) ?? 0) - weight));
  }

  weightOf(owner: string | undefined): number {
    return owner === undefined ? 0 : (this.#weights.get(owner) ?? 0);
  }

  get msWeight(): number {
    return 2 ** ((performance.now() - this.#startMs) / HALF_LIFE_MS);
  }

  #rescale(halfLives: number): void {
    for (const [owner, weight] of [...this.#weights.entries()]) {
      const scaled = weight * 2 ** -halfLives;
      if (scaled < Number.EPSILON) this.#weights.delete(owner);
      else this.#weights.set(owner, scaled);
    }
    this.#startMs += halfLives * HALF_LIFE_MS;
  }
}

export interface Cancellable {
  /** @returns a function that removes the listener */
  onCancel(listener: () => void): () => void;
}

/**
 * `owner_limit`: the queue is full and this owner has the most entries. `queue_full`: the queue is full and
 * every owner has one entry.
 */
export class QueueFullError extends Error {
  readonly reason: 'owner_limit' | 'queue_full' | 'cancelled';

  constructor(reason: QueueFullError['reason']) {
    super(`not admitted: ${reason}`);
    this.name = 'QueueFullError';
    this.reason = reason;
  }
}

interface Entry<T> {
  readonly sinceMs: number;
  /** The usage of the owner at that time. */
  readonly sinceWeight: number;
  readonly admit: (handedOver: T | undefined) => void;
  readonly reject: (error: Error) => void;
}

export interface FairQueueOptions {
  readonly concurrency: number;
  /** The limit applies while other owners are active. The default is nine tenths. */
  readonly maxPerOwner?: number;
  /** The limit applies after `ALONE_MS` without other owners. The default is all. */
  readonly maxPerOwnerAlone?: number;
  readonly maxWaiting?: number;
  /** Limits how far waiting time improves the position of owners with little usage. */
  readonly maxPriorityWaitMs?: number;
  /** Queues for one resource share its usage. */
  readonly use?: DecayingUsage;
}

/** With ten slots or more, other owners always find a free slot, however long the work of one owner takes. */
const MAX_PART_OF_OWNER = 0.9;
const ALONE_MS = 10_000;
/**
 * An owner below this usage for each slot is not overtaken by every owner with even less usage, because
 * hundreds of such owners would block the first owner forever. The limit is about a twentieth of the capacity
 * of a slot.
 */
const PRIORITY_USE_MS = 150;
/**
 * An owner that got this part of each slot while an entry waited was not overtaken. Otherwise all requests of a burst
 * would go before requests that come after the burst.
 */
const SERVED_PART = 0.1;
const DEFAULT_MAX_PRIORITY_WAIT_MS = 2_000;

/**
 * The queue for a shared resource (docs/decisions/0016-fair-scheduling.md). A free slot is taken immediately.
 * Otherwise the next slot goes to the owner with the least usage in the last seconds. If the queue is full,
 * the last entry of the owner with the most entries is rejected. An owner is an account or, without
 * credentials, an IP address. Internal work has the owner undefined. A released slot may hand over a value,
 * such as a connection, to the next entry.
 */
export class FairQueue<T = undefined> {
  readonly use: DecayingUsage;
  readonly #concurrency: number;
  /** Slots are counted by owner only if an owner may not have all slots. */
  readonly #maxPerOwner: number;
  readonly #maxPerOwnerAlone: number;
  readonly #taken = new Map<string, number>();
  readonly #maxWaiting: number;
  readonly #maxPriorityWaitMs: number;
  readonly #owners = new Map<string | undefined, Entry<T>[]>();
  #last: string | undefined;
  #othersMs = Number.NEGATIVE_INFINITY;
  #activeCount = 0;
  #waitingCount = 0;

  constructor({
    concurrency,
    maxPerOwner = Math.ceil(concurrency * MAX_PART_OF_OWNER),
    maxPerOwnerAlone = concurrency,
    maxWaiting = Number.POSITIVE_INFINITY,
    maxPriorityWaitMs = DEFAULT_MAX_PRIORITY_WAIT_MS,
    use = new DecayingUsage(),
  }: FairQueueOptions) {
    this.#concurrency = concurrency;
    this.#maxPerOwner = maxPerOwner;
    this.#maxPerOwnerAlone = maxPerOwnerAlone;
    this.#maxWaiting = maxWaiting;
    this.#maxPriorityWaitMs = maxPriorityWaitMs;
    this.use = use;
  }

  get activeCount(): number {
    return this.#activeCount;
  }

  get waitingCount(): number {
    return this.#waitingCount;
  }

  /** Takes a slot if a slot is free. The caller must `release` each slot. */
  acquire(owner: string | undefined): boolean {
    if (owner !== this.#last) this.#changes(owner);
    if (this.#activeCount >= this.#concurrency || this.#hasMaximum(owner)) return false;
    this.#activeCount += 1;
    this.#count(owner, 1);
    return true;
  }

  /**
   * @returns the value that the last entry in the slot handed over
   * @throws {QueueFullError} or the error given to `rejectAll`
   */
  wait(owner: string | undefined, cancellation?: Cancellable): Promise<T | undefined> {
    if (this.#waitingCount >= this.#maxWaiting) {
      const rejection = this.#makeRoom(owner);
      if (rejection !== undefined) return Promise.reject(rejection);
    }
    return new Promise((resolve, reject) => {
      const removeListener = cancellation?.onCancel(() => {
        this.#remove(owner, entry);
        reject(new QueueFullError('cancelled'));
      });
      const entry: Entry<T> = {
        sinceMs: performance.now(),
        sinceWeight: this.use.weightOf(owner),
        admit(handedOver) {
          removeListener?.();
          resolve(handedOver);
        },
        reject(error) {
          removeListener?.();
          reject(error);
        },
      };
      const entries = this.#owners.get(owner);
      if (entries === undefined) this.#owners.set(owner, [entry]);
      else entries.push(entry);
      this.#waitingCount += 1;
    });
  }

  /** @returns false if no entry took the slot */
  release(owner: string | undefined, handedOver?: T): boolean {
    this.#count(owner, -1);
    const next = this.#nextOwner();
    const entry = this.#owners.get(next)?.[0];
    if (entry === undefined) {
      this.#activeCount -= 1;
      return false;
    }
    this.#remove(next, entry);
    this.#count(next, 1);
    entry.admit(handedOver);
    return true;
  }

  /** @throws {QueueFullError}, the error given to `rejectAll`, or the error of the work */
  async run<R>(owner: string | undefined, work: () => Promise<R>, cancellation?: Cancellable): Promise<R> {
    if (!this.acquire(owner)) await this.wait(owner, cancellation);
    try {
      return await work();
    } finally {
      this.release(owner);
    }
  }

  /**
   * Runs work, and adds its duration to the owner's usage.
   * @throws {QueueFullError}, the error given to `rejectAll`, or the error of the work
   */
  measured<R>(owner: string | undefined, work: () => Promise<R>, cancellation?: Cancellable): Promise<R> {
    const timed = async () => {
      const sinceMs = performance.now();
      try {
        return await work();
      } finally {
        this.use.add(owner, performance.now() - sinceMs);
      }
    };
    return this.run(owner, timed, cancellation);
  }

  rejectAll(error: Error): void {
    const waiting = [...this.#owners.values()];
    this.#owners.clear();
    this.#waitingCount = 0;
    for (const entries of waiting) for (const { reject } of entries) reject(error);
  }

  #changes(owner: string | undefined): void {
    if (owner === undefined) return;
    if (this.#last !== undefined) this.#othersMs = performance.now();
    this.#last = owner;
  }

  #hasMaximum(owner: string | undefined): boolean {
    if (owner === undefined) return false;
    const taken = this.#taken.get(owner) ?? 0;
    if (taken < this.#maxPerOwner) return false;
    return taken >= this.#maxPerOwnerAlone || performance.now() - this.#othersMs < ALONE_MS;
  }

  #count(owner: string | undefined, change: 1 | -1): void {
    if (owner === undefined || this.#maxPerOwner === this.#concurrency) return;
    const taken = (this.#taken.get(owner) ?? 0) + change;
    if (taken === 0) this.#taken.delete(owner);
    else this.#taken.set(owner, taken);
  }

  #nextOwner(): string | undefined {
    if (this.#owners.size < 2) {
      const [owner] = this.#owners.keys();
      return this.#hasMaximum(owner) ? undefined : owner;
    }
    let next: string | undefined;
    let least = Infinity;
    const nowMs = performance.now();
    const { msWeight } = this.use;
    for (const [owner, [first]] of this.#owners) {
      if (owner === undefined) return undefined;
      if (first === undefined || this.#hasMaximum(owner)) continue;
      const weight = this.use.weightOf(owner);
      const usedMs = weight / msWeight;
      const servedMs = Math.max(0, weight - first.sinceWeight) / msWeight / this.#concurrency;
      const overtakenMs = Math.max(0, nowMs - first.sinceMs - servedMs / SERVED_PART);
      const waitedMs = Math.min(this.#maxPriorityWaitMs, overtakenMs);
      const rank = usedMs < PRIORITY_USE_MS * this.#concurrency ? usedMs - waitedMs : usedMs;
      if (rank >= least) continue;
      least = rank;
      next = owner;
    }
    return next;
  }

  #remove(owner: string | undefined, entry: Entry<T>): void {
    const entries = this.#owners.get(owner);
    const at = entries?.indexOf(entry) ?? -1;
    if (entries === undefined || at < 0) return;
    entries.splice(at, 1);
    this.#waitingCount -= 1;
    if (entries.length === 0) this.#owners.delete(owner);
  }

  /** @returns the rejection of the new entry, if its owner has the most entries */
  #makeRoom(requester: string | undefined): QueueFullError | undefined {
    const own = (this.#owners.get(requester)?.length ?? 0) + 1;
    let most = own;
    let owner = requester;
    for (const [other, { length }] of this.#owners) {
      if (length <= most || other === undefined) continue;
      most = length;
      owner = other;
    }
    if (owner === requester) return new QueueFullError(own > 1 ? 'owner_limit' : 'queue_full');
    const last = this.#owners.get(owner)?.at(-1);
    if (last === undefined) return undefined;
    this.#remove(owner, last);
    last.reject(new QueueFullError('owner_limit'));
    return undefined;
  }
}
