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
export class RecentUse {
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
 * Why an entry left the line without a turn. `crowd`: the line is full and this owner has most entries. `full`: the line
 * is full and every owner in it has one entry. `cancelled`: the work was cancelled while it waited.
 */
export class TurnRefusedError extends Error {
  readonly reason: 'crowd' | 'full' | 'cancelled';

  constructor(reason: TurnRefusedError['reason']) {
    super(`no turn: ${reason}`);
    this.name = 'TurnRefusedError';
    this.reason = reason;
  }
}

interface Entry<T> {
  /** When it came. */
  readonly sinceMs: number;
  readonly goIn: (handedOver: T | undefined) => void;
  readonly refuse: (error: Error) => void;
}

export interface LineOptions {
  /** How many may be inside at once. */
  readonly places: number;
  /** How many of them one owner may have while there are others; by default all but a tenth. */
  readonly most?: number;
  /** How many of them an owner may have after ten seconds without others; by default all. */
  readonly mostAlone?: number;
  /** How many may wait. */
  readonly maxWaiting?: number;
  /** How much waiting time counts in favour of owners who use little. */
  readonly patienceMs?: number;
  /** Recent use by owner of what the places are for. Lines for the same thing share it. */
  readonly use?: RecentUse;
}

/** With ten places or more, the most that one owner may have: others find a free place, however long its work takes. */
const MOST_OF_PLACES = 0.9;
/** After this long without other owners, one owner may have `mostAlone` places. */
const ALONE_MS = 10_000;
/**
 * An owner with less recent use than this for each place, a twentieth of what a place offers, is not overtaken by every
 * owner with even less: with hundreds of those, its turn would never come. Its waiting time counts in its favour, up to
 * `patienceMs`.
 */
const LITTLE_MS = 150;
const PATIENCE_MS = 2_000;

/**
 * The queue for a shared resource (decision 16). A free place is taken at once. Otherwise the owner that has used it
 * least in the last seconds is next, and among equals the one that came first. If the line is full, the last entry of
 * the owner with the most entries is refused. An owner is an account or, without one, an address; undefined is the
 * service itself, whose use is not counted. A place may hand something over to the next entry, such as a connection.
 */
export class Line<T = undefined> {
  readonly use: RecentUse;
  readonly #places: number;
  /** How many an owner may have, and how many each has: only known where that is fewer than all. */
  readonly #most: number;
  readonly #mostAlone: number;
  readonly #taken = new Map<string, number>();
  readonly #maxWaiting: number;
  readonly #patienceMs: number;
  /** The waiting entries of each owner, in order of arrival. */
  readonly #owners = new Map<string | undefined, Entry<T>[]>();
  /** The owner that came last, and when that owner last changed. */
  #last: string | undefined;
  #othersMs = Number.NEGATIVE_INFINITY;
  #inside = 0;
  #waiting = 0;

  constructor({
    places,
    most = Math.ceil(places * MOST_OF_PLACES),
    mostAlone = places,
    maxWaiting = Number.POSITIVE_INFINITY,
    patienceMs = PATIENCE_MS,
    use = new RecentUse(),
  }: LineOptions) {
    this.#places = places;
    this.#most = most;
    this.#mostAlone = mostAlone;
    this.#maxWaiting = maxWaiting;
    this.#patienceMs = patienceMs;
    this.use = use;
  }

  get inside(): number {
    return this.#inside;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a place for an owner if one is free. Every place taken needs a `leave`. */
  enter(owner: string | undefined): boolean {
    if (owner !== this.#last) this.#changes(owner);
    if (this.#inside >= this.#places || this.#hasMost(owner)) return false;
    this.#inside += 1;
    this.#count(owner, 1);
    return true;
  }

  /**
   * Waits for a place. Resolves to what its last holder handed over. Rejects with TurnRefusedError, or with the
   * error given to `refuseAll`.
   */
  wait(owner: string | undefined, cancellation?: Cancellable): Promise<T | undefined> {
    if (this.#waiting >= this.#maxWaiting) {
      const refusal = this.#makeRoom(owner);
      if (refusal !== undefined) return Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      const stayed = cancellation?.onCancel(() => {
        this.#remove(owner, entry);
        reject(new TurnRefusedError('cancelled'));
      });
      const entry: Entry<T> = {
        sinceMs: performance.now(),
        goIn(handedOver) {
          stayed?.();
          resolve(handedOver);
        },
        refuse(error) {
          stayed?.();
          reject(error);
        },
      };
      const entries = this.#owners.get(owner);
      if (entries === undefined) this.#owners.set(owner, [entry]);
      else entries.push(entry);
      this.#waiting += 1;
    });
  }

  /** Gives an owner's place to the next in the line. Returns whether somebody took it. */
  leave(owner: string | undefined, handedOver?: T): boolean {
    this.#count(owner, -1);
    const next = this.#next();
    const entry = this.#owners.get(next)?.[0];
    if (entry === undefined) {
      this.#inside -= 1;
      return false;
    }
    this.#remove(next, entry);
    this.#count(next, 1);
    entry.goIn(handedOver);
    return true;
  }

  /** Runs work once it has a place. Rejects with what it throws and like `wait`. */
  async run<R>(owner: string | undefined, work: () => Promise<R>, cancellation?: Cancellable): Promise<R> {
    if (!this.enter(owner)) await this.wait(owner, cancellation);
    try {
      return await work();
    } finally {
      this.leave(owner);
    }
  }

  /** The same for work that uses what the line is for as long as it is inside. */
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

  /** Rejects everyone in the line. */
  refuseAll(error: Error): void {
    const waiting = [...this.#owners.values()];
    this.#owners.clear();
    this.#waiting = 0;
    for (const entries of waiting) for (const { refuse } of entries) refuse(error);
  }

  #changes(owner: string | undefined): void {
    if (owner === undefined) return;
    if (this.#last !== undefined) this.#othersMs = performance.now();
    this.#last = owner;
  }

  #hasMost(owner: string | undefined): boolean {
    if (owner === undefined) return false;
    const taken = this.#taken.get(owner) ?? 0;
    if (taken < this.#most) return false;
    return taken >= this.#mostAlone || performance.now() - this.#othersMs < ALONE_MS;
  }

  #count(owner: string | undefined, places: 1 | -1): void {
    if (owner === undefined || this.#most === this.#places) return;
    const taken = (this.#taken.get(owner) ?? 0) + places;
    if (taken === 0) this.#taken.delete(owner);
    else this.#taken.set(owner, taken);
  }

  #next(): string | undefined {
    if (this.#owners.size < 2) {
      const [owner] = this.#owners.keys();
      return this.#hasMost(owner) ? undefined : owner;
    }
    let next: string | undefined;
    let least = Infinity;
    const nowMs = performance.now();
    const { msWeight } = this.use;
    for (const [owner, [first]] of this.#owners) {
      if (owner === undefined) return undefined;
      if (this.#hasMost(owner)) continue;
      const usedMs = this.use.weightOf(owner) / msWeight;
      const waitedMs = Math.min(this.#patienceMs, nowMs - (first?.sinceMs ?? nowMs));
      const rank = usedMs < LITTLE_MS * this.#places ? usedMs - waitedMs : usedMs;
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
    this.#waiting -= 1;
    if (entries.length === 0) this.#owners.delete(owner);
  }

  /** Removes the last entry of whoever has most. Returns the refusal if that is the one to come. */
  #makeRoom(comer: string | undefined): TurnRefusedError | undefined {
    const own = (this.#owners.get(comer)?.length ?? 0) + 1;
    let most = own;
    let owner = comer;
    for (const [other, { length }] of this.#owners) {
      if (length <= most || other === undefined) continue;
      most = length;
      owner = other;
    }
    if (owner === comer) return new TurnRefusedError(own > 1 ? 'crowd' : 'full');
    const last = this.#owners.get(owner)?.at(-1);
    if (last === undefined) return undefined;
    this.#remove(owner, last);
    last.refuse(new TurnRefusedError('crowd'));
    return undefined;
  }
}
