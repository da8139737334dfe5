import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';
import { Cancellation } from '../../../database/cancellation.ts';
import type { Database } from '../../../database/database.ts';
import { Retries } from '../../../database/retries.ts';
import type { Queryable } from '../../../database/statement.ts';
import type { Author, UnitOfWork } from '../../../database/unit-of-work.ts';
import type { AdmittedRequest } from '../../../http/exchange.ts';
import { createDeadline } from '../../../platform/deadline.ts';
import { ApiError } from '../../../platform/errors.ts';
import { type Cancellable, FairQueue, QueueFullError } from '../../../platform/fairness/fair-queue.ts';
import type { Metrics } from '../../../platform/metrics/metrics.ts';

/** Who waits for the response: a user in a browser, or a program. */
export type Audience = 'user' | 'program';

/** A request in progress. */
interface OAuthRequest {
  readonly audience: Audience;
  /** The account or, until it is known, the IP address. */
  owner: string;
  readonly cancellation: Cancellation;
}

/**
 * The requests in progress, each with its owner, because the library does not pass the owner to its storage. At the deadline,
 * `timeoutMs` after it came, a request is rejected with TIMEOUT and its statements are cancelled, unless it is settled.
 * `onResult` is called whenever a request goes on after a statement.
 */
export function createOAuthRequests(
  database: Pick<Database, 'owned' | 'unitOfWork' | 'lockWaitMs'>,
  timeoutMs: number,
  onResult: (request: OAuthRequest) => void,
) {
  const requests = new AsyncLocalStorage<OAuthRequest>();
  const deadline = createDeadline(timeoutMs);

  function current(): OAuthRequest {
    const request = requests.getStore();
    if (request === undefined) throw new Error('no request is being answered');
    return request;
  }

  const tooLate = () =>
    new ApiError('TIMEOUT', `The request took longer than ${timeoutMs} ms and was cancelled. Try again.`);

  const ofRequest: Queryable = {
    async query(statement, values) {
      const request = current();
      try {
        return await database.owned(request.owner, request.cancellation).query(statement, values);
      } finally {
        onResult(request);
      }
    },
  };

  return {
    /** Runs `handle` for a request of an owner. Rejects with TIMEOUT at the deadline, and with what `handle` throws. */
    run<T>(audience: Audience, owner: string, handle: () => Promise<T>): Promise<T> {
      const cancellation = new Cancellation(undefined, owner);
      return new Promise<T>((resolve, reject) => {
        const done = deadline.set(() => {
          if (cancellation.cancel()) reject(tooLate());
        });
        // After the deadline, the outcome is ignored.
        requests.run({ audience, owner, cancellation }, handle).then(resolve, reject).finally(done);
      });
    },
    current,
    /** Makes an account the owner of the rest of the request. */
    isOf(accountId: string): void {
      current().owner = accountId;
    },
    /**
     * Call it before something is consumed that cannot be restored, such as a code: from here on the request runs to
     * completion, and its response says what was done. Throws TIMEOUT if it is too late.
     */
    settle(): void {
      if (!current().cancellation.close()) throw tooLate();
    },
    /** Runs a transaction for the current request. Throws what `write` throws, and DatabaseError. */
    async transaction<T>(author: Author, write: (work: UnitOfWork) => Promise<T>): Promise<T> {
      const request = current();
      const own = new Cancellation(undefined, request.owner);
      if (request.cancellation.cancelled) own.cancel();
      const done = request.cancellation.onCancel(() => own.cancel());
      try {
        return await new Retries(database.lockWaitMs).run(() =>
          database.unitOfWork({ author }, own).run(write),
        );
      } finally {
        done();
        onResult(request);
      }
    },
    /** The database for the current request. */
    database: ofRequest,
  };
}

/** The client has disconnected, so nobody reads this error. */
const gone = () => new ApiError('BAD_REQUEST', 'The client disconnected.');

/** Resolves when all is done that could be done at once, and the event loop goes on to other work. */
const sliceEnds = () =>
  new Promise<void>((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });

/**
 * What a call is charged until it is known not to be rejected: more use than any caller with valid secrets has. So a
 * caller with wrong secrets, who has no recent use, goes ahead of others only once.
 */
const UNKNOWN_MS = 10_000;

/** Called with the outcome of a call. */
export type ReportOutcome = (rejected: boolean) => void;

export type OAuthRequests = ReturnType<typeof createOAuthRequests>;

/**
 * Queues the calls of the library, which do much at a time on the event loop. Calls for users and calls for programs
 * have a queue each, so that programs never wait behind pages. The calls of a queue begin one at a time, and the next one
 * when as much time has passed as was taken last: OAuth has half of the event loop at most, and while both queues are in
 * use each has a quarter.
 */
export function createOAuthRequestQueue(maxWaiting: number, metrics: Metrics) {
  // Only use decides who is next, not waiting time: owners who wait long are those with many calls in the queue.
  const options = { concurrency: 1, maxWaiting, maxPriorityWaitMs: 0 };
  const queues: Readonly<Record<Audience, FairQueue>> = {
    user: new FairQueue(options),
    program: new FairQueue(options),
  };
  metrics.gauges(
    'content_graph_oauth_requests_waiting',
    'OAuth requests that are waiting for a slot, by caller: user for browsers, program for applications.',
    'caller',
    () => Object.entries(queues).map(([audience, { waitingCount }]) => [audience, waitingCount]),
  );
  /** The time that the calls of each queue have taken since its last rest. */
  const owedMs: Record<Audience, number> = { user: 0, program: 0 };

  /** Measures what is done for a request now, until the event loop goes on to other work. */
  async function measure({ audience, owner }: OAuthRequest): Promise<void> {
    const beganMs = performance.now();
    await sliceEnds();
    const tookMs = performance.now() - beganMs;
    queues[audience].use.add(owner, tookMs);
    // Work that is done while no call has a slot adds to no rest.
    if (queues[audience].activeCount > 0) owedMs[audience] += tookMs;
  }

  async function leaveAfter(work: OAuthRequest, owner: string): Promise<void> {
    const { audience } = work;
    await measure(work);
    const { activeCount, waitingCount } = queues[audience === 'user' ? 'program' : 'user'];
    const restMs = owedMs[audience] * (activeCount + waitingCount > 0 ? 3 : 1);
    owedMs[audience] = 0;
    await setTimeout(restMs);
    queues[audience].release(owner);
  }

  return {
    measure: (work: OAuthRequest): void => void measure(work),
    /**
     * Resolves when the call of a request may begin. Rejects with QueueFullError. A request that is out of time or
     * whose client has disconnected gives up its slot.
     */
    async take(
      work: OAuthRequest,
      disconnectSignal: AdmittedRequest['disconnectSignal'],
    ): Promise<ReportOutcome> {
      const { audience, owner, cancellation } = work;
      const queue = queues[audience];
      const hasDisconnected = () => disconnectSignal?.disconnected === true;
      if (hasDisconnected()) throw gone();
      if (cancellation.cancelled) throw new QueueFullError('cancelled');
      const wanted: Cancellable = {
        onCancel(listener) {
          disconnectSignal?.onDisconnect(listener);
          return cancellation.onCancel(listener);
        },
      };
      try {
        if (!queue.acquire(owner)) await queue.wait(owner, wanted);
      } catch (error) {
        throw hasDisconnected() ? gone() : error;
      }
      void leaveAfter(work, owner);
      const weight = queue.use.add(owner, UNKNOWN_MS);
      return (rejected) => {
        if (!rejected) queue.use.takeBack(owner, weight);
      };
    },
  };
}
