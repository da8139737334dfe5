import { performance } from 'node:perf_hooks';
import { FairQueue } from './fair-queue.ts';

/** How long requests may begin one after the other before the loop looks for new ones. */
const TURN_MS = 5;
/** The longest time for which it looks for new requests while connections keep coming. */
const BUSY_LOOK_MS = 60;
/** Waiting requests, each with its body. Bodies have a bound of their own. */
const MAX_WAITING = 16_384;

/** CPU time of this thread in milliseconds. It stands still while the thread sleeps or others have the core. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Shares the event loop of this process among owners. One slice of work runs at a time: everything until the process
 * looks for other work. The CPU time from one slice to the next is charged to the owner of the first. Once slices have
 * taken `TURN_MS` without a pause, further work waits in the queue, and each turn of the loop admits the owners with the least
 * use. So an owner that keeps the loop busy delays others by one slice, not by everything that it has sent.
 */
export class EventLoop {
  readonly queue = new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING });
  #owner: string | undefined;
  #chargedMs = 0;
  #turnMs = 0;
  #idleMs = 0;
  /** When the turn before was over, and whether a connection has been accepted since the last look. */
  #overMs = 0;
  #accepted = false;
  #connections = 0;

  /**
   * Begins a slice of an owner's work; undefined is the service's own, which never waits. Returns undefined if it may
   * go on at once, otherwise a promise that resolves when it is its turn. Rejects with TurnRefusedError.
   */
  enter(owner: string | undefined): Promise<void> | undefined {
    if (owner !== undefined) {
      if (!this.queue.acquire(owner)) return this.#wait(owner);
      if (this.#isOver()) {
        this.#turnOver();
        return this.#wait(owner);
      }
      queueMicrotask(this.#afterSlice);
    }
    this.#charge(owner);
    return undefined;
  }

  async #wait(owner: string): Promise<void> {
    await this.queue.wait(owner);
    this.#charge(owner);
  }

  /** A connection has been accepted. */
  accepted(): void {
    this.#accepted = true;
    this.#connections += 1;
  }

  /** How many connections have been accepted. */
  get connections(): number {
    return this.#connections;
  }

  /** Begins a slice that must not wait, since others wait for what it holds. */
  charge(owner: string | undefined): void {
    this.#charge(owner);
    if (owner !== undefined) queueMicrotask(this.#afterCharged);
  }

  #charge(owner: string | undefined): void {
    if (owner === this.#owner) return;
    const nowMs = threadMs();
    this.queue.use.add(this.#owner, nowMs - this.#chargedMs);
    this.#chargedMs = nowMs;
    this.#owner = owner;
  }

  /** Whether the loop has been busy for a turn without looking for others. A pause begins another turn. */
  #isOver(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#turnMs < TURN_MS) return false;
    const { idleTime } = performance.nodeTiming;
    const paused = idleTime !== this.#idleMs;
    this.#idleMs = idleTime;
    if (paused) this.#turnMs = nowMs;
    return !paused;
  }

  /**
   * A new turn, once the connections are accepted that have come meanwhile, or after a while: libuv accepts one each time
   * that the loop goes round, and a flood of them must not keep others outside for as many turns.
   */
  readonly #turn = (): void => {
    const nowMs = performance.now();
    if (this.#accepted && nowMs - this.#overMs < BUSY_LOOK_MS) {
      this.#accepted = false;
      setImmediate(this.#turn);
      return;
    }
    this.#turnMs = nowMs;
    this.#next();
  };

  /** The turn is over: others come first, with a free round at least. */
  #turnOver(): void {
    this.#overMs = performance.now();
    this.#accepted = true;
    setImmediate(this.#turn);
  }

  /** A slice ends when it has done all that it can do at once. Time after that has no owner until the next slice begins. */
  readonly #afterSlice = (): void => process.nextTick(this.#next);
  readonly #afterCharged = (): void => process.nextTick(this.#end);
  readonly #end = (): void => this.#charge(undefined);

  /** Lets the next one in. */
  readonly #next = (): void => {
    // What the last one took counts when the next is chosen.
    this.#charge(undefined);
    if (this.queue.waitingCount > 0 && performance.now() - this.#turnMs >= TURN_MS) {
      this.#turnOver();
      return;
    }
    if (this.queue.release(undefined)) queueMicrotask(this.#afterSlice);
  };
}

/** Of this process. */
export const eventLoop = new EventLoop();

/** How much is read before other work has its turn: about a millisecond's worth. */
const TURN_BYTES = 262_144;
/** How long new connections come first. */
const INTAKE_LOOK_MS = 20;

/** A connection that sends much: a result of the database, the body of a request. */
export interface ThrottledSource {
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
  readonly #paused = new Set<ThrottledSource>();
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
  take(source: ThrottledSource, bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < TURN_BYTES) return;
    source.stream.pause();
    if (this.#paused.size === 0) setImmediate(this.#turn);
    this.#paused.add(source);
  }

  readonly #turn = (): void => {
    const { connections } = eventLoop;
    const nowMs = performance.now();
    if (connections !== this.#connections && nowMs - this.#turnMs < INTAKE_LOOK_MS) {
      this.#connections = connections;
      setImmediate(this.#turn);
      return;
    }
    this.#turnMs = nowMs;
    const nothingCame = this.#taken === 0;
    this.#taken = 0;
    const firsts = new Map<unknown, ThrottledSource>();
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
