/** A reader of a waiting answer takes that much in the time it is given, or it is cut off (contract section 5). */
const LEAST_TAKEN_BYTES = 262_144;
const CHECK_INTERVAL_MS = 250;
/** A reader that was slower than that, for as long at least, makes room for others where there is none. */
const SLOW_BYTES_PER_SECOND = 262_144;
const SLOW_AFTER_MS = 250;

/** A socket that has not taken all of an answer yet. */
export interface Reader {
  /** How many bytes it has still to take. */
  remaining(): number;
  /** Ends it at once, and what it held is free again. */
  cutOff(): void;
  /** It must take its part in this time, again and again; undefined where others see to its pace. */
  readonly windowMs?: number | undefined;
}

/** A reader, and what it took since a moment. */
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

  /** Whether its time is over and it has not taken its part. Where it has, its time begins anew. */
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

/** Cuts off those who take too little of what waits for them: all of them in time, the slowest where room is needed. */
export class SlowReaders {
  readonly #waiting = new Set<Waiting>();
  readonly #onCutOff: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onCutOff: () => void) {
    this.#onCutOff = onCutOff;
  }

  /** Watches a reader. Returns what ends that. */
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

  /** Cuts off one slow reader after the other, the slowest first, until it is enough. */
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
