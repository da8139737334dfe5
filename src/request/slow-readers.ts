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

/** When a reader was last looked at, and how much it had to take then. */
interface Look {
  readonly atMs: number;
  readonly remaining: number;
}

const lookAt = (reader: Reader): Look => ({ atMs: performance.now(), remaining: reader.remaining() });

/** The bytes per second that a reader has taken since a look; infinite if the look is too recent to tell. */
function paceSince(before: Look, now: Look): number {
  const elapsedMs = now.atMs - before.atMs;
  if (elapsedMs < SLOW_AFTER_MS) return Number.POSITIVE_INFINITY;
  return ((before.remaining - now.remaining) * 1000) / elapsedMs;
}

/**
 * Cuts off readers that take too little of what waits for them: all that miss their time, and the slowest if
 * room is needed.
 */
export class SlowReaders {
  readonly #waiting = new Map<Reader, Look>();
  readonly #onCutOff: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onCutOff: () => void) {
    this.#onCutOff = onCutOff;
  }

  /** Watches a reader. Returns a function that stops watching. */
  watch(reader: Reader): () => void {
    this.#waiting.set(reader, lookAt(reader));
    this.#timer ??= setInterval(() => this.#cutOffStalled(), CHECK_INTERVAL_MS).unref();
    return () => {
      if (!this.#waiting.delete(reader) || this.#waiting.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Cuts off slow readers, the slowest first, until `isEnough`. */
  cutOffSlowest(isEnough: () => boolean): void {
    const slow = [...this.#waiting]
      .map(([reader, look]) => ({ reader, pace: paceSince(look, lookAt(reader)) }))
      .filter(({ pace }) => pace < SLOW_BYTES_PER_SECOND)
      .sort((a, b) => a.pace - b.pace);
    for (const { reader } of slow) {
      if (isEnough()) return;
      this.#cutOff(reader);
    }
  }

  /** A reader that has taken enough in its time has the same time again. */
  #cutOffStalled(): void {
    for (const [reader, before] of this.#waiting) {
      const now = lookAt(reader);
      if (now.atMs - before.atMs < (reader.windowMs ?? Number.POSITIVE_INFINITY)) continue;
      if (before.remaining - now.remaining < LEAST_TAKEN_BYTES) this.#cutOff(reader);
      else this.#waiting.set(reader, now);
    }
  }

  #cutOff(reader: Reader): void {
    this.#onCutOff();
    reader.cutOff();
  }
}
