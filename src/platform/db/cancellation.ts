/** Says that work is not wanted any more. Lighter than an AbortController, since every operation makes one. */
export class Cancellation {
  readonly #listeners = new Set<() => void>();
  #cancelled = false;
  #closed = false;
  #undecided = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Calls the work off. False where it is too late, or was done before. */
  cancel(): boolean {
    if (this.#cancelled || this.#closed) return false;
    this.#cancelled = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
    return true;
  }

  /**
   * Whether the work that was called off may be done all the same: only its own outcome tells. Set while a statement
   * runs that commits by itself.
   */
  get undecided(): boolean {
    return this.#undecided;
  }

  set undecided(undecided: boolean) {
    this.#undecided = undecided;
  }

  /** Says that it is too late to call the work off. False where it was called off already. */
  close(): boolean {
    this.#closed = true;
    return !this.#cancelled;
  }

  /** Calls `listener` when the work is cancelled. Returns what takes it off again. */
  onCancel(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
