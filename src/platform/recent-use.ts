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
