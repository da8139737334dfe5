/** A body on its way in, which may be given up in favour of others. */
export interface ArrivingBody {
  giveUp(): void;
}

/**
 * Bounds what all bodies hold together, from their first byte until their request is answered. Whoever is asked for
 * nothing yet, without credentials even, can send as many as there are connections. Where there is no more room, those
 * go that have been arriving the longest: a body that is sent in one go takes no time to arrive.
 */
export class BodyBudget {
  readonly #maxBytes: number;
  /** The oldest first. Bodies that arrive in one piece are never in it. */
  readonly #arriving = new Map<ArrivingBody, number>();
  #heldBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Counts a body that is whole. False where there is no room for it: then nothing is counted. */
  take(bytes: number): boolean {
    this.#heldBytes += bytes;
    if (this.#makeRoom()) return true;
    this.#heldBytes -= bytes;
    return false;
  }

  /** Counts more of a body that is still arriving. It may be given up itself, as the oldest. */
  grow(body: ArrivingBody, bytes: number): void {
    this.#arriving.set(body, (this.#arriving.get(body) ?? 0) + bytes);
    this.#heldBytes += bytes;
    if (!this.#makeRoom()) this.#giveUp(body);
  }

  /** It has arrived, and is counted on until `release`, or it never will. Returns what it holds. */
  arrived(body: ArrivingBody): number {
    const bytes = this.#arriving.get(body) ?? 0;
    this.#arriving.delete(body);
    return bytes;
  }

  /** Counts bytes no more. */
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
