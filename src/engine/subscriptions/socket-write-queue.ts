import { eventLoop } from '../../platform/fairness/event-loop.ts';

/** The number of items that a job handles before the next job continues and the time is checked. */
const SLICE = 32;
/** After this time, the queue yields to other work of the process. */
const TIME_SLICE_MS = 1;

interface Job {
  slice(): boolean;
}

/** Runs long loops in time slices, so that thousands of writes to sockets delay neither requests nor each other. */
export class TimeSlicedQueue {
  readonly #jobs: Job[] = [];
  #scheduled = false;

  /**
   * Handles the items in order while `continues` returns true, and the first items in any case.
   * @returns the number of handled items
   */
  run<T>(
    items: readonly T[],
    handle: (slice: readonly T[]) => void,
    continues: () => boolean = () => true,
  ): Promise<number> {
    return new Promise((resolve, reject) => {
      let done = 0;
      this.#jobs.push({
        slice() {
          try {
            handle(items.slice(done, done + SLICE));
          } catch (error) {
            reject(error);
            return false;
          }
          done = Math.min(done + SLICE, items.length);
          if (done < items.length && continues()) return true;
          resolve(done);
          return false;
        },
      });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#runTimeSlice());
    });
  }

  #runTimeSlice(): void {
    // The work is charged to no owner, because thousands of streams share it.
    eventLoop.charge(undefined);
    const untilMs = performance.now() + TIME_SLICE_MS;
    do {
      const job = this.#jobs.shift();
      if (job?.slice()) this.#jobs.push(job);
    } while (this.#jobs.length > 0 && performance.now() < untilMs);
    this.#scheduled = this.#jobs.length > 0;
    if (this.#scheduled) setImmediate(() => this.#runTimeSlice());
  }
}
