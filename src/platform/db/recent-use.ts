import { LRUCache } from 'lru-cache';

/** Past usage decays with this half-life. */
const HALF_LIFE_MS = 2_000;
/** Beyond this, the least recently used owner is forgotten. */
const MAX_OWNERS = 10_000;

/** An entry waiting for its turn. Work without an owner is the service's own. */
export interface Waiting {
  readonly owner: string | undefined;
}

/** How long each owner has recently held connections. The owner with the least usage gets the next turn. */
export class RecentUse {
  readonly #uses = new LRUCache<string, { ms: number; atMs: number }>({ max: MAX_OWNERS });

  /** The decayed usage in milliseconds. */
  of(owner: string | undefined, nowMs = performance.now()): number {
    const use = owner === undefined ? undefined : this.#uses.get(owner);
    return use === undefined ? 0 : use.ms * 0.5 ** ((nowMs - use.atMs) / HALF_LIFE_MS);
  }

  add(owner: string, ms: number): void {
    const atMs = performance.now();
    const use = this.#uses.get(owner);
    if (use === undefined) {
      this.#uses.set(owner, { ms, atMs });
      return;
    }
    use.ms = use.ms * 0.5 ** ((atMs - use.atMs) / HALF_LIFE_MS) + ms;
    use.atMs = atMs;
  }

  /**
   * Removes and returns the next entry: the one whose owner has the least usage or, on a tie, the earliest.
   */
  takeNext<T extends Waiting>(line: T[]): T | undefined {
    if (line.length <= 1) return line.pop();
    const nowMs = performance.now();
    let at = 0;
    let least = this.of(line[0]?.owner, nowMs);
    for (let index = 1; index < line.length && least > 0; index += 1) {
      const owner = line[index]?.owner;
      if (owner === line[at]?.owner) continue;
      const ms = this.of(owner, nowMs);
      if (ms >= least) continue;
      at = index;
      least = ms;
    }
    return at === 0 ? line.shift() : line.splice(at, 1)[0];
  }
}
