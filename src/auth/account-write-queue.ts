import { Cancellation } from '../database/cancellation.ts';
import type { Database } from '../database/database.ts';
import { DatabaseError } from '../database/errors.ts';
import { Retries } from '../database/retries.ts';
import type { Queryable } from '../database/statement.ts';
import type { Author, UnitOfWork } from '../database/unit-of-work.ts';
import type { FairQueue } from '../platform/fairness/fair-queue.ts';

/** Repeating a login or a logout does no harm, so a write of unknown outcome can be retried. */
const repeatable = (error: unknown): unknown =>
  error instanceof DatabaseError && error.kind === 'unknown'
    ? new DatabaseError('unavailable', error.cause)
    : error;

/**
 * Queues writes that may wait for the lock of an account. Each attempt joins the queue again, so a write that
 * waits for a locked account occupies no slot.
 */
export function createAccountWriteQueue(
  database: Pick<Database, 'unitOfWork' | 'lockWaitMs'>,
  queue: FairQueue,
) {
  const withSlot = <T>(owner: string, tryOnce: () => Promise<T>, lockWaitMs: number): Promise<T> =>
    new Retries(lockWaitMs).run(() => queue.measured(owner, tryOnce));

  return {
    /** Each statement commits by itself. */
    statements(owner: string): Queryable {
      const options = { singleStatement: true };
      return {
        query: (statement, values) =>
          withSlot(
            owner,
            () => database.unitOfWork(options, new Cancellation(undefined, owner)).query(statement, values),
            database.lockWaitMs,
          ).catch((error: unknown) => Promise.reject(repeatable(error))),
      };
    },
    /** @throws {DatabaseError} and what `write` throws */
    transaction<T>(
      owner: string,
      write: (work: UnitOfWork) => Promise<T>,
      given: { readonly lockWaitMs?: number; readonly author?: Author } = {},
    ): Promise<T> {
      const { lockWaitMs = database.lockWaitMs, ...options } = given;
      const cancellation = () => new Cancellation(undefined, owner);
      return withSlot(owner, () => database.unitOfWork(options, cancellation()).run(write), lockWaitMs);
    },
  };
}

export type AccountWriteQueue = ReturnType<typeof createAccountWriteQueue>;
