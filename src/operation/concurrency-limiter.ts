import { ApiError } from '../graphql/errors.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import { RecentUse, type Waiting } from '../platform/db/recent-use.ts';

/** Limits how many run at once; a bounded queue waits, the rest is refused. */
export interface ConcurrencyLimiter {
  /**
   * Returns undefined if a slot is free, otherwise a promise that resolves when one is. Every successful
   * `enter` needs a `leave`. Throws SERVICE_UNAVAILABLE if the queue is full; rejects with TIMEOUT if the
   * work is cancelled while queued.
   */
  enter(cancellation?: Cancellation): Promise<void> | undefined;
  leave(): void;
  readonly inside: number;
  readonly waiting: number;
}

/** Runs the work once the limiter has a slot. Rejects with what either throws. */
export type Limited = <T>(work: () => Promise<T>) => Promise<T>;

export function limitedBy(limiter: ConcurrencyLimiter): Limited {
  return async (work) => {
    await limiter.enter();
    try {
      return await work();
    } finally {
      limiter.leave();
    }
  };
}

/** The owner in the queue with the least recent database use goes first. */
export function createConcurrencyLimiter(
  maxInside: number,
  maxWaiting: number,
  use = new RecentUse(),
): ConcurrencyLimiter {
  let inside = 0;
  const line: (Waiting & { readonly goIn: () => void })[] = [];
  return {
    enter(cancellation) {
      if (inside < maxInside) {
        inside += 1;
        return undefined;
      }
      if (line.length >= maxWaiting) {
        throw new ApiError('SERVICE_UNAVAILABLE', 'The service is busy. Try again.', {
          headers: { 'retry-after': '1' },
        });
      }
      return new Promise<void>((resolve, reject) => {
        const stayed = cancellation?.onCancel(() => {
          line.splice(line.indexOf(entry), 1);
          reject(new ApiError('TIMEOUT', 'The operation timed out while waiting for other operations.'));
        });
        const entry = {
          owner: cancellation?.owner,
          goIn() {
            stayed?.();
            resolve();
          },
        };
        line.push(entry);
      });
    },
    leave() {
      const next = use.takeNext(line);
      // The slot passes directly to the next in the queue.
      if (next === undefined) inside -= 1;
      else next.goIn();
    },
    get inside() {
      return inside;
    },
    get waiting() {
      return line.length;
    },
  };
}
