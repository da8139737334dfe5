import type { RecentUse } from '../../platform/recent-use.ts';

/** How many are compared for each read. */
const COMPARED = 8;

/**
 * The accounts and addresses whose streams a group has. What a group reads is charged to one of them at a time, of the next
 * few the one with the least recent use: so what many share costs each of them little, and two accounts with the same
 * hundred subscriptions have two shares, not a hundred.
 */
export class GroupOwners {
  readonly #use: RecentUse;
  /** With the number of their streams. Who is charged goes to the end. */
  readonly #streams = new Map<string, number>();

  constructor(use: RecentUse) {
    this.#use = use;
  }

  add(owner: string): void {
    this.#streams.set(owner, (this.#streams.get(owner) ?? 0) + 1);
  }

  remove(owner: string): void {
    const left = (this.#streams.get(owner) ?? 0) - 1;
    if (left > 0) this.#streams.set(owner, left);
    else this.#streams.delete(owner);
  }

  /** Whom to charge for the next read; undefined if all have left. */
  next(): string | undefined {
    let next: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    let compared = 0;
    for (const owner of this.#streams.keys()) {
      if (compared >= COMPARED) break;
      compared += 1;
      const weight = this.#use.weightOf(owner);
      if (weight >= least) continue;
      least = weight;
      next = owner;
    }
    const streams = next === undefined ? undefined : this.#streams.get(next);
    if (next !== undefined && streams !== undefined && this.#streams.size > 1) {
      this.#streams.delete(next);
      this.#streams.set(next, streams);
    }
    return next;
  }
}
