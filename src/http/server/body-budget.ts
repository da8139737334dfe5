import { OwnedBytes } from '../../platform/owned-bytes.ts';
import type { BodyCharge } from '../../request/request-state.ts';

/** One owner may have the bytes of all bodies divided by this. */
const SHARES = 8;

/** A body still being received. It may be dropped in favour of others. */
export interface ArrivingBody {
  giveUp(): void;
}

/**
 * Bounds the memory of all request bodies, from their first byte until their request is answered. Clients can
 * send bodies before they authenticate, one per connection. When space runs out, the bodies that have been
 * arriving longest are dropped: a body sent in one go takes no time to arrive.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  /** Oldest first. Bodies that arrive in one chunk are never in it. */
  readonly #arriving = new Map<ArrivingBody, number>();
  readonly #owned = new OwnedBytes();
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Counts a complete body. Returns false, and counts nothing, if there is no room. */
  take(bytes: number): boolean {
    this.#heldBytes += bytes;
    if (this.#makeRoom()) return true;
    this.#heldBytes -= bytes;
    return false;
  }

  /** Counts more bytes of a body still arriving. May drop that body itself, as the oldest. */
  grow(body: ArrivingBody, bytes: number): void {
    this.#arriving.set(body, (this.#arriving.get(body) ?? 0) + bytes);
    this.#heldBytes += bytes;
    if (!this.#makeRoom()) this.#giveUp(body);
  }

  /** Call when a body has arrived or failed. Returns its size, which stays counted until `release`. */
  arrived(body: ArrivingBody): number {
    const bytes = this.#arriving.get(body) ?? 0;
    this.#arriving.delete(body);
    return bytes;
  }

  /**
   * Charges a complete body to whom its request turned out to be from. Returns a function that gives it back, or
   * undefined if the owner has bodies here already and too much with this one.
   */
  own(owner: string, bytes: number): (() => void) | undefined {
    const held = this.#owned.of(owner);
    return held > 0 && held + bytes > this.#maxBytes / SHARES ? undefined : this.#owned.take(owner, bytes);
  }

  /** Stops counting bytes. */
  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  #makeRoom(): boolean {
    if (this.#heldBytes <= this.#maxBytes) return true;
    for (const body of this.#arriving.keys()) {
      if (this.#heldBytes <= this.#maxBytes) break;
      this.#giveUp(body);
    }
    return this.#heldBytes <= this.#maxBytes;
  }

  #giveUp(body: ArrivingBody): void {
    if (!this.#arriving.has(body)) return;
    this.release(this.arrived(body));
    body.giveUp();
  }
}

/** A complete body, from its arrival until its request is answered. */
export class HeldBody implements BodyCharge {
  readonly #budget: BodyBudget;
  readonly #bytes: number;
  #giveBack: (() => void) | undefined;
  #isReleased = false;

  constructor(budget: BodyBudget, bytes: number) {
    this.#budget = budget;
    this.#bytes = bytes;
  }

  /** False for a released body, too: a request whose admission was late owns nothing. */
  own(owner: string): boolean {
    if (this.#isReleased) return false;
    this.#giveBack ??= this.#budget.own(owner, this.#bytes);
    return this.#giveBack !== undefined;
  }

  release(): void {
    this.#isReleased = true;
    this.#budget.release(this.#bytes);
    this.#giveBack?.();
  }
}
