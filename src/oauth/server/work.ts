import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '../../graphql/errors.ts';
import { Cancellation } from '../../platform/db/cancellation.ts';
import type { Database } from '../../platform/db/database.ts';
import { Retries } from '../../platform/db/retries.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Author, UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { createDeadline } from '../../platform/deadline.ts';

/** Who waits for the answer to a request: a user in a browser, or a program. */
export type Audience = 'user' | 'program';

/** A request that is being answered. */
export interface Work {
  readonly audience: Audience;
  /** The account or, until it is known, the address. */
  owner: string;
  readonly cancellation: Cancellation;
}

export interface WorkOptions {
  readonly database: Pick<Database, 'owned' | 'unitOfWork' | 'lockWaitMs'>;
  /** How long a request may take. */
  readonly timeoutMs: number;
  /** Told whenever a request goes on after a statement. */
  readonly onResult: (work: Work) => void;
}

/**
 * The work for requests: whose it is, since the library does not tell its storage for whom it works, and until when it
 * is wanted. At the deadline a request is answered with TIMEOUT and its statements are cancelled, unless it is settled.
 */
export function createWorks({ database, timeoutMs, onResult }: WorkOptions) {
  const requests = new AsyncLocalStorage<Work>();
  const deadline = createDeadline(timeoutMs);

  function current(): Work {
    const work = requests.getStore();
    if (work === undefined) throw new Error('no request is being answered');
    return work;
  }

  const tooLate = () =>
    new ApiError('TIMEOUT', `The request took longer than ${timeoutMs} ms and was cancelled.`);

  const ofRequest: Queryable = {
    async query(statement, values) {
      const work = current();
      try {
        return await database.owned(work.owner, work.cancellation).query(statement, values);
      } finally {
        onResult(work);
      }
    },
  };

  return {
    /** Answers a request of an owner. Rejects with TIMEOUT at the deadline, and with what `answer` throws. */
    run<T>(audience: Audience, owner: string, answer: () => Promise<T>): Promise<T> {
      const cancellation = new Cancellation(undefined, owner);
      return new Promise<T>((resolve, reject) => {
        const done = deadline.set(() => {
          if (cancellation.cancel()) reject(tooLate());
        });
        // Past the deadline nobody hears what comes of it.
        requests.run({ audience, owner, cancellation }, answer).then(resolve, reject).finally(done);
      });
    },
    current,
    /** Whoever sent the request is known by now: the rest of the work is this account's. */
    isOf(accountId: string): void {
      current().owner = accountId;
    },
    /**
     * To be called before something is used up that nobody can give back, such as a code: the request goes on to its end
     * from here, and its answer tells what was done. Throws TIMEOUT if it is too late.
     */
    settle(): void {
      if (!current().cancellation.close()) throw tooLate();
    },
    /** Runs a transaction for the request that is being answered. Throws what `write` throws, and DatabaseError. */
    async transaction<T>(author: Author, write: (work: UnitOfWork) => Promise<T>): Promise<T> {
      const work = current();
      const own = new Cancellation(undefined, work.owner);
      if (work.cancellation.cancelled) own.cancel();
      const done = work.cancellation.onCancel(() => own.cancel());
      try {
        return await new Retries(database.lockWaitMs).run(() =>
          database.unitOfWork({ author }, own).run(write),
        );
      } finally {
        done();
        onResult(work);
      }
    },
    /** The database for the request that is being answered. */
    database: ofRequest,
  };
}
