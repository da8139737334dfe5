import { eventLoop } from './event-loop.ts';

/** How much is read before other work has its turn: about a millisecond's worth. */
const TURN_BYTES = 262_144;
/** How long new connections come first. */
const LOOK_MS = 20;

/** A connection that sends much: a result of the database, the body of a request. */
export interface Source {
  /** Whom what it sends is for, or who sends it; undefined: the service itself. */
  readonly owner: string | undefined;
  /** Numbers what it is used for, in order. */
  readonly number: number;
  readonly stream: { pause(): unknown; resume(): unknown };
}

/**
 * Takes in what connections send by turns. libuv reads up to 2 MiB of each before it looks at anything else, so one
 * account's large results on ten of them would take the event loop for a tenth of a second each time around. Of an owner's
 * the one that began first is read to its end before the next: each is a buffer that grows.
 */
class Intake {
  readonly #paused = new Set<Source>();
  #numbers = 0;
  #taken = 0;
  #turnMs = 0;
  #connections = 0;

  /** The number of what begins now. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** Counts what a connection has sent. It is paused once the turn is over. */
  take(source: Source, bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < TURN_BYTES) return;
    source.stream.pause();
    if (this.#paused.size === 0) setImmediate(this.#turn);
    this.#paused.add(source);
  }

  readonly #turn = (): void => {
    const { connections } = eventLoop;
    const nowMs = performance.now();
    if (connections !== this.#connections && nowMs - this.#turnMs < LOOK_MS) {
      this.#connections = connections;
      setImmediate(this.#turn);
      return;
    }
    this.#turnMs = nowMs;
    const nothingCame = this.#taken === 0;
    this.#taken = 0;
    const firsts = new Map<unknown, Source>();
    for (const source of this.#paused) {
      // Whoever has nothing to read keeps nobody.
      const place = nothingCame ? source : (source.owner ?? source);
      const first = firsts.get(place);
      if (first === undefined || source.number < first.number) firsts.set(place, source);
    }
    for (const source of firsts.values()) {
      this.#paused.delete(source);
      source.stream.resume();
    }
    if (this.#paused.size > 0) setImmediate(this.#turn);
  };
}

/** Of this process. */
export const intake = new Intake();
