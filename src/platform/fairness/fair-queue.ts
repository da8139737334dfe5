import { LRUCache } from 'lru-cache';

/** Past usage decays with this half-life. */
const HALF_LIFE_MS = 2_000;
/** Beyond this, the least recently used owner is forgotten. */
const MAX_OWNERS = 10_000;
/** Weights double with every half-life since `#startMs`. They are scaled down long before 2^1023. */
const MAX_HALF_LIVES = 500;

/**
 * How much each owner has recently used of something that is shared. Instead of making past use smaller as time
 * passes, later use weighs more: so owners compare without a clock.
 */
export class DecayingUsage {
  readonly #weights = new LRUCache<string, number>({ max: MAX_OWNERS });
  #startMs = performance.now();

  /** Adds `ms` of use, and returns what it weighs. Work without an owner is the service's own and is not counted. */
  add(owner: string | undefined, ms: number): number {
    if (owner === undefined || ms <= 0) return 0;
    const halfLives = (performance.now() - this.#startMs) / HALF_LIFE_MS;
    if (halfLives > MAX_HALF_LIVES) this.#rescale(halfLives);
    const weight = ms * this.msWeight;
    this.#weights.set(owner, (this.#weights.get(owner) ?? 0) + weight);
    return weight;
  }

  /** Takes back use of the weight that `add` returned. */
  takeBack(owner: string, weight: number): void {
    this.#weights.set(owner, Math.max(0, (this.#weights.get(owner) ?? 0) - weight));
  }

  /** The decayed use, comparable with that of other owners at any time. 0 for the service's own work. */
  weightOf(owner: string | undefined): number {
    return owner === undefined ? 0 : (this.#weights.get(owner) ?? 0);
  }

  /** What a millisecond of use weighs now. */
  get msWeight(): number {
    return 2 ** ((performance.now() - this.#startMs) / HALF_LIFE_MS);
  }

  #rescale(halfLives: number): void {
    for (const [owner, weight] of [...this.#weights.entries()]) {
      const scaled = weight * 2 ** -halfLives;
      // Decayed to nothing: as if it had never been.
      if (scaled < Number.EPSILON) this.#weights.delete(owner);
      else this.#weights.set(owner, scaled);
    }
    this.#startMs += halfLives * HALF_LIFE_MS;
  }
}

/** Work that may end while it waits. */
export interface Cancellable {
  /** Calls `listener` when the work is cancelled. Returns a function that removes it. */
  onCancel(listener: () => void): () => void;
}

/**
 * Why an entry left the queue without a slot. `owner_limit`: the queue is full and this owner has most entries.
 * `queue_full`: the queue is full and every owner in it has one entry. `cancelled`: the work was cancelled while it
 * waited.
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
  /** When the entry came. */
  readonly sinceMs: number;
  readonly admit: (handedOver: T | undefined) => void;
  readonly reject: (error: Error) => void;
}

export interface FairQueueOptions {
  /** How many entries may be active at the same time. */
  readonly concurrency: number;
  /** How many slots one owner may have while there are other owners; by default all but a tenth. */
  readonly maxPerOwner?: number;
  /** How many slots an owner may have after ten seconds without other owners; by default all. */
  readonly maxPerOwnerAlone?: number;
  /** How many entries may wait. */
  readonly maxWaiting?: number;
  /** Up to this limit, waiting time counts in favour of owners with little use. */
  readonly maxPriorityWaitMs?: number;
  /** Recent use of the resource by owner. Queues for the same resource share it. */
  readonly use?: DecayingUsage;
}

/** With ten slots or more, the most that one owner may have: others find a free slot, however long its work takes. */
const MAX_PART_OF_OWNER = 0.9;
/** After this long without other owners, one owner may have `maxPerOwnerAlone` slots. */
const ALONE_MS = 10_000;
/**
 * An owner with less recent use than this for each slot, a twentieth of what a slot offers, is not overtaken by every
 * owner with even less. Hundreds of such owners would make it wait for ever. Its waiting time counts in its favour, up
 * to `maxPriorityWaitMs`.
 */
const PRIORITY_USE_MS = 150;
const DEFAULT_MAX_PRIORITY_WAIT_MS = 2_000;

/**
 * The queue for a shared resource (decision 16). A free slot is taken immediately. Otherwise the owner that has used the
 * resource least in the last seconds is next, and among equals the owner that came first. If the queue is full, the last
 * entry of the owner with the most entries is rejected. An owner is an account or, without credentials, an IP address;
 * undefined is the service itself, whose use is not counted. A slot may hand something over to the next entry, such as a
 * connection.
 */
export class FairQueue<T = undefined> {
  readonly use: DecayingUsage;
  readonly #concurrency: number;
  /** How many slots an owner may have, and how many each owner has: only counted where the limit is below all slots. */
  readonly #maxPerOwner: number;
  readonly #maxPerOwnerAlone: number;
  readonly #taken = new Map<string, number>();
  readonly #maxWaiting: number;
  readonly #maxPriorityWaitMs: number;
  /** The waiting entries of each owner, in order of incomingRequest. */
  readonly #owners = new Map<string | undefined, Entry<T>[]>();
  /** The owner that came last, and when that owner last changed. */
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

  /** Takes a slot for an owner if one is free. Every slot taken needs a `release`. */
  acquire(owner: string | undefined): boolean {
    if (owner !== this.#last) this.#changes(owner);
    if (this.#activeCount >= this.#concurrency || this.#hasMaximum(owner)) return false;
    this.#activeCount += 1;
    this.#count(owner, 1);
    return true;
  }

  /**
   * Waits for a slot. Resolves to what the last entry in the slot handed over. Rejects with QueueFullError, or with
   * the error given to `rejectAll`.
   */
  wait(owner: string | undefined, cancellation?: Cancellable): Promise<T | undefined> {
    if (this.#waitingCount >= this.#maxWaiting) {
      const rejection = this.#makeRoom(owner);
      if (rejection !== undefined) return Promise.reject(rejection);
    }
    return new Promise((resolve, reject) => {
      const stayed = cancellation?.onCancel(() => {
        this.#remove(owner, entry);
        reject(new QueueFullError('cancelled'));
      });
      const entry: Entry<T> = {
        sinceMs: performance.now(),
        admit(handedOver) {
          stayed?.();
          resolve(handedOver);
        },
        reject(error) {
          stayed?.();
          reject(error);
        },
      };
      const entries = this.#owners.get(owner);
      if (entries === undefined) this.#owners.set(owner, [entry]);
      else entries.push(entry);
      this.#waitingCount += 1;
    });
  }

  /** Gives an owner's slot to the next entry in the queue. Returns false if no entry took it. */
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

  /** Runs work as soon as it has a slot. Rejects with the error of the work, and like `wait`. */
  async run<R>(owner: string | undefined, work: () => Promise<R>, cancellation?: Cancellable): Promise<R> {
    if (!this.acquire(owner)) await this.wait(owner, cancellation);
    try {
      return await work();
    } finally {
      this.release(owner);
    }
  }

  /** Like `run`, for work that uses the resource as long as it has the slot: its time is added to its owner's use. */
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

  /** Rejects all waiting entries. */
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
      if (this.#hasMaximum(owner)) continue;
      const usedMs = this.use.weightOf(owner) / msWeight;
      const waitedMs = Math.min(this.#maxPriorityWaitMs, nowMs - (first?.sinceMs ?? nowMs));
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

  /** Removes the last entry of the owner with most entries. Returns the rejection if that entry is the new one. */
  #makeRoom(comer: string | undefined): QueueFullError | undefined {
    const own = (this.#owners.get(comer)?.length ?? 0) + 1;
    let most = own;
    let owner = comer;
    for (const [other, { length }] of this.#owners) {
      if (length <= most || other === undefined) continue;
      most = length;
      owner = other;
    }
    if (owner === comer) return new QueueFullError(own > 1 ? 'owner_limit' : 'queue_full');
    const last = this.#owners.get(owner)?.at(-1);
    if (last === undefined) return undefined;
    this.#remove(owner, last);
    last.reject(new QueueFullError('owner_limit'));
    return undefined;
  }
}
