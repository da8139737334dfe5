/** Says that work is not wanted any more. Lighter than an AbortController, since every operation makes one. */
export class Cancellation {
  readonly #listeners = new Set<() => void>();
  #cancelled = false;

  get cancelled(): boolean {
    return this.#cancelled;
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Calls `listener` when the work is cancelled. Returns what takes it off again. */
  onCancel(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
