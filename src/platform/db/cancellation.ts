/** Counts what the database sends for some work: whether that goes on, begins nothing more, or is stopped at once. */
export interface ReceivedMeter {
  receive(bytes: number): 'go on' | 'begin nothing more' | 'stop';
}

/** Says that work is not wanted any more. Lighter than an AbortController, since every operation makes one. */
export class Cancellation {
  /** The only one, as nearly always, or all of them. */
  #listeners: (() => void) | Set<() => void> | undefined;
  #cancelled = false;
  #closed = false;
  #undecided = false;
  #received = 0;
  readonly #meter: ReceivedMeter | undefined;
  /** Whose work it is, as far as turns go: an account or, without one, an address. */
  readonly owner: string | undefined;

  constructor(meter?: ReceivedMeter, owner?: string) {
    this.#meter = meter;
    this.owner = owner;
  }

  /**
   * Counts what the database has sent for the work. False where it is too much: nothing of it is to be taken any more.
   * What is committed, or may be, is taken whatever it is.
   */
  receive(bytes: number): boolean {
    this.#received += bytes;
    if (this.#meter === undefined || this.#closed || this.#undecided) return true;
    const verdict = this.#meter.receive(bytes);
    // The statement that runs is let end: it has sent what is counted, and to cancel it takes another connection.
    if (verdict !== 'go on') this.#cancelled = true;
    return verdict !== 'stop';
  }

  /** The bytes that the database has sent for the work. */
  get received(): number {
    return this.#received;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Calls the work off. False where it is too late, or was done before. */
  cancel(): boolean {
    if (this.#cancelled || this.#closed) return false;
    this.#cancelled = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (typeof listeners === 'function') listeners();
    else for (const listener of listeners ?? []) listener();
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
    if (this.#listeners === undefined) this.#listeners = listener;
    else if (typeof this.#listeners === 'function') this.#listeners = new Set([this.#listeners, listener]);
    else this.#listeners.add(listener);
    return () => {
      if (this.#listeners === listener) this.#listeners = undefined;
      else if (typeof this.#listeners === 'object') this.#listeners.delete(listener);
    };
  }
}
