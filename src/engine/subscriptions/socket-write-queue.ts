import { eventLoop } from '../../platform/fairness/event-loop.ts';

/** How many items are handled before the next job gets its turn, and the time is looked at. */
const SLICE = 32;
/** After this time other work of the process gets a turn. */
const TURN_MS = 1;

interface Job {
  /** Handles one more slice. Returns whether the job goes on. */
  slice(): boolean;
}

/**
 * Runs long loops in slices: thousands of writes to sockets must hold up neither requests nor each other. Jobs
 * take turns.
 */
export class SliceQueue {
  readonly #jobs: Job[] = [];
  #scheduled = false;

  /**
   * Handles the items in order, slice by slice, while `goesOn`; the first slice in any case. Resolves to the
   * number of items handled. Rejects with what `handle` throws.
   */
  run<T>(
    items: readonly T[],
    handle: (slice: readonly T[]) => void,
    goesOn: () => boolean = () => true,
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
          if (done < items.length && goesOn()) return true;
          resolve(done);
          return false;
        },
      });
      if (this.#scheduled) return;
      this.#scheduled = true;
      setImmediate(() => this.#turn());
    });
  }

  #turn(): void {
    // Nobody's own: thousands share it.
    eventLoop.charge(undefined);
    const untilMs = performance.now() + TURN_MS;
    do {
      const job = this.#jobs.shift();
      if (job?.slice()) this.#jobs.push(job);
    } while (this.#jobs.length > 0 && performance.now() < untilMs);
    this.#scheduled = this.#jobs.length > 0;
    if (this.#scheduled) setImmediate(() => this.#turn());
  }
}
