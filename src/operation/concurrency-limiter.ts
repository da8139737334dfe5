import { ApiError } from '../graphql/errors.ts';
import type { Cancellation } from '../platform/db/cancellation.ts';
import { RecentUse, type Waiting } from '../platform/db/recent-use.ts';

/** Lets so many in at a time, has a few more wait in line, and sends the rest away. */
export interface ConcurrencyLimiter {
  /**
   * Resolves when there is room, undefined where there is at once; every pass ends with `leave`. Throws
   * SERVICE_UNAVAILABLE where the line is full, and rejects with TIMEOUT where the work is called off while it waits.
   */
  enter(cancellation?: Cancellation): Promise<void> | undefined;
  leave(): void;
  readonly inside: number;
  readonly waiting: number;
}

/** Does the work once the limiter has room. Rejects with what either throws. */
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

/** Of those in line, whoever has used the database least of late goes in first. */
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
          reject(new ApiError('TIMEOUT', 'The operation waited too long for others to end.'));
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
      // The place goes straight to the next in line.
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
