import { performance } from 'node:perf_hooks';
import { FairQueue } from './fair-queue.ts';

/** How long requests may begin one after the other before the loop looks for new requests. */
const TIME_SLICE_MS = 5;
/** The longest time for which the loop looks for new requests while connections keep coming. */
const BUSY_LOOK_MS = 60;
/** Waiting requests, each with its body. Bodies have a bound of their own. */
const MAX_WAITING = 16_384;

/** CPU time of this thread in milliseconds. It stands still while the thread sleeps or others have the core. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Shares the event loop of this process among owners. One step of work runs at a time: everything until the process
 * looks for other work. The CPU time from one step to the next is charged to the owner of the first. Once steps have
 * taken `TIME_SLICE_MS` without a pause, further work waits in the queue, and each time slice admits the owners with the
 * least use. So an owner that keeps the loop busy delays others by one step, not by everything that it has sent.
 */
export class EventLoop {
  readonly queue = new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING });
  #owner: string | undefined;
  #chargedMs = 0;
  #sliceStartMs = 0;
  #idleMs = 0;
  /** When the last time slice ended, and whether a connection has been accepted since the last look. */
  #sliceEndMs = 0;
  #accepted = false;
  #connections = 0;

  /**
   * Begins a step of an owner's work. Work of the service itself has the owner undefined and never waits. Returns
   * undefined if the work may go on immediately, otherwise a promise that resolves when the work is admitted. Rejects
   * with QueueFullError.
   */
  enter(owner: string | undefined): Promise<void> | undefined {
    if (owner !== undefined) {
      if (!this.queue.acquire(owner)) return this.#wait(owner);
      if (this.#isSliceOver()) {
        this.#endSlice();
        return this.#wait(owner);
      }
      queueMicrotask(this.#afterStep);
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

  /** Begins a step that must not wait, because others wait for what it holds. */
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

  /** True if the loop has been busy for a time slice without looking for others. A pause begins another time slice. */
  #isSliceOver(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#sliceStartMs < TIME_SLICE_MS) return false;
    const { idleTime } = performance.nodeTiming;
    const paused = idleTime !== this.#idleMs;
    this.#idleMs = idleTime;
    if (paused) this.#sliceStartMs = nowMs;
    return !paused;
  }

  /**
   * Begins a time slice after new connections are accepted, or after `BUSY_LOOK_MS`. libuv accepts one connection in each
   * iteration of the loop, and a flood of connections must not delay others for as many time slices.
   */
  readonly #startSlice = (): void => {
    const nowMs = performance.now();
    if (this.#accepted && nowMs - this.#sliceEndMs < BUSY_LOOK_MS) {
      this.#accepted = false;
      setImmediate(this.#startSlice);
      return;
    }
    this.#sliceStartMs = nowMs;
    this.#admitNext();
  };

  /** Ends the time slice: others come first, with one free iteration of the loop at least. */
  #endSlice(): void {
    this.#sliceEndMs = performance.now();
    this.#accepted = true;
    setImmediate(this.#startSlice);
  }

  /** A step ends when it has done all that it can do without waiting. Time after that has no owner until the next step. */
  readonly #afterStep = (): void => process.nextTick(this.#admitNext);
  readonly #afterCharged = (): void => process.nextTick(this.#endStep);
  readonly #endStep = (): void => this.#charge(undefined);

  readonly #admitNext = (): void => {
    // The time of the last step counts when the next owner is chosen.
    this.#charge(undefined);
    if (this.queue.waitingCount > 0 && performance.now() - this.#sliceStartMs >= TIME_SLICE_MS) {
      this.#endSlice();
      return;
    }
    if (this.queue.release(undefined)) queueMicrotask(this.#afterStep);
  };
}

/** Of this process. */
export const eventLoop = new EventLoop();

/** The bytes that are read in one time slice: about a millisecond of work. */
const TIME_SLICE_BYTES = 262_144;
/** How long new connections come first. */
const CONNECTIONS_FIRST_MS = 20;

/** A connection that sends much: a result of the database, the body of a request. */
export interface ThrottledSource {
  /** Whom what it sends is for, or who sends it; undefined: the service itself. */
  readonly owner: string | undefined;
  /** Numbers what it is used for, in order. */
  readonly number: number;
  readonly stream: { pause(): unknown; resume(): unknown };
}

/**
 * Reads from connections in time slices. libuv reads up to 2 MiB of each connection before it looks at anything else, so
 * one account's large results on ten connections would take the event loop for a tenth of a second in each iteration. Of
 * one owner's connections, the first is read to its end before the next, because each has a buffer that grows.
 */
class ReadThrottle {
  readonly #paused = new Set<ThrottledSource>();
  #numbers = 0;
  #taken = 0;
  #sliceStartMs = 0;
  #connections = 0;

  /** The number of what begins now. */
  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** Counts what a connection has sent. The connection is paused at the end of the time slice. */
  take(source: ThrottledSource, bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < TIME_SLICE_BYTES) return;
    source.stream.pause();
    if (this.#paused.size === 0) setImmediate(this.#startSlice);
    this.#paused.add(source);
  }

  readonly #startSlice = (): void => {
    const { connections } = eventLoop;
    const nowMs = performance.now();
    if (connections !== this.#connections && nowMs - this.#sliceStartMs < CONNECTIONS_FIRST_MS) {
      this.#connections = connections;
      setImmediate(this.#startSlice);
      return;
    }
    this.#sliceStartMs = nowMs;
    const nothingCame = this.#taken === 0;
    this.#taken = 0;
    const firsts = new Map<unknown, ThrottledSource>();
    for (const source of this.#paused) {
      // A connection with nothing to read delays no other connection.
      const key = nothingCame ? source : (source.owner ?? source);
      const first = firsts.get(key);
      if (first === undefined || source.number < first.number) firsts.set(key, source);
    }
    for (const source of firsts.values()) {
      this.#paused.delete(source);
      source.stream.resume();
    }
    if (this.#paused.size > 0) setImmediate(this.#startSlice);
  };
}

/** Of this process. */
export const readThrottle = new ReadThrottle();
