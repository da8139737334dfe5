import { LRUCache } from 'lru-cache';

/** After this long half of what somebody has used is forgotten. */
const HALF_LIFE_MS = 2_000;
/** Beyond this many the owner who used something longest ago is forgotten. */
const MAX_OWNERS = 10_000;

/** Somebody who waits for a turn; work without an owner is the service's own. */
export interface Waiting {
  readonly owner: string | undefined;
}

/** How long each owner has kept connections of late, so that whoever has used least has the next turn. */
export class RecentUse {
  readonly #uses = new LRUCache<string, { readonly ms: number; readonly atMs: number }>({ max: MAX_OWNERS });

  /** Milliseconds, of which ever fewer count as time passes. */
  of(owner: string | undefined, nowMs = performance.now()): number {
    const use = owner === undefined ? undefined : this.#uses.get(owner);
    return use === undefined ? 0 : use.ms * 0.5 ** ((nowMs - use.atMs) / HALF_LIFE_MS);
  }

  add(owner: string, ms: number): void {
    const atMs = performance.now();
    this.#uses.set(owner, { ms: this.of(owner, atMs) + ms, atMs });
  }

  /** Takes the one out of the line whose turn it is: whose owner has used least and, of equals, who came first. */
  takeNext<T extends Waiting>(line: T[]): T | undefined {
    const nowMs = performance.now();
    let at = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let index = 0; index < line.length && line.length > 1 && least > 0; index += 1) {
      const ms = this.of(line[index]?.owner, nowMs);
      if (ms >= least) continue;
      at = index;
      least = ms;
    }
    return line.splice(at, 1)[0];
  }
}
