import { performance } from 'node:perf_hooks';
import { FairQueue } from './fair-queue.ts';

/** After this long without a pause, the loop looks for new requests. */
const TIME_SLICE_MS = 5;
/** The loop looks for new requests at most this long while connections keep coming. */
const BUSY_LOOK_MS = 60;
/** The bodies of waiting requests have a separate limit. */
const MAX_WAITING = 16_384;

/**
 * Reading the CPU time of the thread is a system call and takes about a microsecond, a large part of a small request.
 * The elapsed time is exact enough for a step of at most this length.
 */
const SHORT_STEP_MS = 1;

/** CPU time of this thread, without the time in which the thread sleeps or other processes have the core. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Shares the event loop of this process among owners. A step is the work until the process looks for other
 * work. Its CPU time is charged to its owner, with an error of at most `SHORT_STEP_MS`. After `TIME_SLICE_MS` without a pause, further work waits in
 * the queue, and each time slice admits the owners with the least usage. So an owner that keeps the loop busy
 * delays others by one step, not by all of its requests.
 */
export class EventLoop {
  readonly queue = new FairQueue({ concurrency: 1, maxWaiting: MAX_WAITING });
  #owner: string | undefined;
  #stepStartMs = 0;
  #threadMs = 0;
  #threadReadMs = Number.NEGATIVE_INFINITY;
  #sliceStartMs = 0;
  #idleMs = 0;
  #sliceEndMs = 0;
  #accepted = false;
  #connections = 0;

  /**
   * Starts a step of an owner. Work of the service itself has the owner undefined and never waits.
   * @returns undefined if the work may start immediately
   * @throws {QueueFullError}
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

  accepted(): void {
    this.#accepted = true;
    this.#connections += 1;
  }

  get connections(): number {
    return this.#connections;
  }

  /** Starts a step that must not wait, because others wait for what the step has locked. */
  charge(owner: string | undefined): void {
    this.#charge(owner);
    if (owner !== undefined) queueMicrotask(this.#afterCharged);
  }

  #charge(owner: string | undefined): void {
    if (owner === this.#owner) return;
    const nowMs = performance.now();
    if (this.#owner !== undefined) this.queue.use.add(this.#owner, this.#stepMs(nowMs));
    if (owner !== undefined && nowMs - this.#threadReadMs > SHORT_STEP_MS) this.#readThread(nowMs);
    this.#stepStartMs = nowMs;
    this.#owner = owner;
  }

  /** The CPU time since the last reading includes the short steps between the reading and this step. */
  #stepMs(nowMs: number): number {
    const elapsedMs = nowMs - this.#stepStartMs;
    return elapsedMs <= SHORT_STEP_MS ? elapsedMs : Math.min(elapsedMs, this.#readThread(nowMs));
  }

  /** @returns the CPU time since the last reading */
  #readThread(nowMs: number): number {
    const lastMs = this.#threadMs;
    this.#threadMs = threadMs();
    this.#threadReadMs = nowMs;
    return this.#threadMs - lastMs;
  }

  /** A pause starts another time slice. */
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
   * libuv accepts one connection in each iteration of the loop. Without the limit `BUSY_LOOK_MS`, a flood of
   * connections would delay others by as many time slices.
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

  /** Other work gets at least one free iteration of the loop. */
  #endSlice(): void {
    this.#sliceEndMs = performance.now();
    this.#accepted = true;
    setImmediate(this.#startSlice);
  }

  /** A step ends when all of its microtasks have run. Later time has no owner until the next step. */
  readonly #afterStep = (): void => process.nextTick(this.#admitNext);
  readonly #afterCharged = (): void => process.nextTick(this.#endStep);
  readonly #endStep = (): void => this.#charge(undefined);

  readonly #admitNext = (): void => {
    // The usage of the last step must count when the next owner is chosen.
    this.#charge(undefined);
    if (this.queue.waitingCount > 0 && performance.now() - this.#sliceStartMs >= TIME_SLICE_MS) {
      this.#endSlice();
      return;
    }
    if (this.queue.release(undefined)) queueMicrotask(this.#afterStep);
  };
}

export const eventLoop = new EventLoop();

/** Reading this many bytes takes about a millisecond. */
const TIME_SLICE_BYTES = 262_144;
const CONNECTIONS_FIRST_MS = 20;

/** A connection that sends much, such as a database result or the body of a request. */
export interface ThrottledSource {
  /** The sender or the receiver of the bytes. Undefined is the service itself. */
  readonly owner: string | undefined;
  readonly number: number;
  readonly stream: { pause(): unknown; resume(): unknown };
}

/**
 * Reads from connections in time slices. libuv reads up to 2 MiB of each connection before other work. Large
 * results on ten connections of one account would block the loop for 100 ms in each iteration. Of one owner's
 * connections, the first is read to its end before the next, because each has a growing buffer.
 */
class ReadThrottle {
  readonly #paused = new Set<ThrottledSource>();
  #numbers = 0;
  #taken = 0;
  #sliceStartMs = 0;
  #connections = 0;

  nextNumber(): number {
    this.#numbers += 1;
    return this.#numbers;
  }

  /** Pauses the connection at the end of the time slice. */
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

export const readThrottle = new ReadThrottle();
