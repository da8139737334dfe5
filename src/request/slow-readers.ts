/**
 * A reader that takes less than this of a waiting response within its time is cut off (contract section 5).
 */
const LEAST_TAKEN_BYTES = 262_144;
const CHECK_INTERVAL_MS = 250;
/** A reader slower than this, for at least SLOW_AFTER_MS, is cut off if others need the room. */
const SLOW_BYTES_PER_SECOND = 262_144;
const SLOW_AFTER_MS = 250;

/** A socket that has not taken all of a response yet. */
export interface Reader {
  /** Bytes still to be taken. */
  remaining(): number;
  /** Ends it at once and frees what it held. */
  cutOff(): void;
  /** Time in which it must take its part, again and again; undefined if its pace is enforced elsewhere. */
  readonly windowMs?: number | undefined;
}

/** A reader and its progress since a point in time. */
class Waiting {
  readonly reader: Reader;
  #sinceMs = performance.now();
  #remaining: number;

  constructor(reader: Reader) {
    this.reader = reader;
    this.#remaining = reader.remaining();
  }

  bytesPerSecond(nowMs: number): number {
    const elapsedMs = nowMs - this.#sinceMs;
    if (elapsedMs < SLOW_AFTER_MS) return Number.POSITIVE_INFINITY;
    return ((this.#remaining - this.reader.remaining()) * 1000) / elapsedMs;
  }

  /** Whether its time is up without enough progress. With enough progress the time starts again. */
  isStalled(nowMs: number): boolean {
    const { windowMs } = this.reader;
    if (windowMs === undefined || nowMs - this.#sinceMs < windowMs) return false;
    const remaining = this.reader.remaining();
    if (this.#remaining - remaining < LEAST_TAKEN_BYTES) return true;
    this.#remaining = remaining;
    this.#sinceMs = nowMs;
    return false;
  }
}

/**
 * Cuts off readers that take too little of what waits for them: all that miss their time, and the slowest if
 * room is needed.
 */
export class SlowReaders {
  readonly #waiting = new Set<Waiting>();
  readonly #onCutOff: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onCutOff: () => void) {
    this.#onCutOff = onCutOff;
  }

  /** Watches a reader. Returns a function that stops watching. */
  watch(reader: Reader): () => void {
    const waiting = new Waiting(reader);
    this.#waiting.add(waiting);
    this.#timer ??= setInterval(() => this.#cutOffStalled(), CHECK_INTERVAL_MS).unref();
    return () => {
      if (!this.#waiting.delete(waiting) || this.#waiting.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Cuts off slow readers, the slowest first, until `isEnough`. */
  cutOffSlowest(isEnough: () => boolean): void {
    const nowMs = performance.now();
    const slow = [...this.#waiting]
      .map((waiting) => ({ waiting, pace: waiting.bytesPerSecond(nowMs) }))
      .filter(({ pace }) => pace < SLOW_BYTES_PER_SECOND)
      .sort((a, b) => a.pace - b.pace);
    for (const { waiting } of slow) {
      if (isEnough()) return;
      this.#cutOff(waiting);
    }
  }

  #cutOffStalled(): void {
    const nowMs = performance.now();
    for (const waiting of this.#waiting) if (waiting.isStalled(nowMs)) this.#cutOff(waiting);
  }

  #cutOff({ reader }: Waiting): void {
    this.#onCutOff();
    reader.cutOff();
  }
}
