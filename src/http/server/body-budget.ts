import { MemoryBudget } from '../../platform/memory-budget.ts';
import type { BodyCharge } from '../../request/request-state.ts';

/**
 * Bounds the memory of all request bodies. Clients can send bodies before they authenticate, one per connection. When
 * space runs out, the bodies that have been arriving longest are dropped: a body sent in one go takes no time to arrive.
 */
export class BodyBudget extends MemoryBudget {
  /** The bodies that are not complete, the oldest first. A body that arrives in one chunk is never among them. */
  readonly arriving: Set<BodyMemory>;

  constructor(maxBytes: number) {
    const arriving = new Set<BodyMemory>();
    super(maxBytes, (hasRoom) => {
      for (const oldest of arriving) {
        if (hasRoom()) return;
        oldest.drop();
      }
    });
    this.arriving = arriving;
  }
}

/** The memory of one request body, from its first byte until its request is answered. */
export class BodyMemory implements BodyCharge {
  readonly #budget: BodyBudget;
  readonly #onDrop: () => void;
  #bytes = 0;
  #owner: string | undefined;
  #isReleased = false;

  constructor(budget: BodyBudget, onDrop: () => void) {
    this.#budget = budget;
    this.#onDrop = onDrop;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a complete body. Returns false, and counts nothing, if there is no room. */
  take(bytes: number): boolean {
    if (!this.#budget.makeRoom(bytes)) return false;
    this.#add(bytes);
    return true;
  }

  /** Counts more bytes of a body that is still arriving. Returns false if this dropped the body itself. */
  grow(bytes: number): boolean {
    this.#budget.arriving.add(this);
    this.#add(bytes);
    this.#budget.makeRoom(0);
    return !this.#isReleased;
  }

  /** From now on, the body is not dropped in favour of others. */
  complete(): void {
    this.#budget.arriving.delete(this);
  }

  /**
   * Charges a complete body to the account of its request. Returns false if the account has other bodies and too much
   * with this one, or if the request has been answered.
   */
  own(owner: string): boolean {
    if (this.#isReleased) return false;
    if (this.#owner !== undefined) return true;
    if (this.#budget.usedBy(owner) > 0 && !this.#budget.isWithinShare(owner, this.#bytes)) return false;
    const bytes = this.#bytes;
    this.#add(-bytes);
    this.#owner = owner;
    this.#add(bytes);
    return true;
  }

  drop(): void {
    this.release();
    this.#onDrop();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.complete();
    this.#add(-this.#bytes);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes, this.#owner);
  }
}
