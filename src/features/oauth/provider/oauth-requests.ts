import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';
import type { InteractionResults } from 'oidc-provider';
import { Cancellation } from '../../../database/cancellation.ts';
import type { Database } from '../../../database/database.ts';
import type { Queryable } from '../../../database/statement.ts';
import type { AdmittedRequest } from '../../../http/exchange.ts';
import { createDeadline } from '../../../platform/deadline.ts';
import { ApiError } from '../../../platform/errors.ts';
import { type Cancellable, FairQueue, QueueFullError } from '../../../platform/fairness/fair-queue.ts';
import type { Metrics } from '../../../platform/metrics/metrics.ts';

export type Audience = 'user' | 'program';

interface OAuthRequest {
  readonly audience: Audience;
  /** The account or, without a session, the IP address. */
  readonly owner: string;
  readonly cancellation: Cancellation;
  /** Set if the request finishes a sign-in. */
  finished?: { readonly result: InteractionResults };
}

/**
 * The library does not pass the owner to its storage, so the owner is tracked here. A request that is not
 * settled within `timeoutMs` is rejected with TIMEOUT, and its statements are cancelled.
 * @param onResult called whenever a request continues after a statement
 */
export function createOAuthRequests(
  database: Pick<Database, 'owned'>,
  timeoutMs: number,
  onResult: (request: OAuthRequest) => void,
) {
  const requests = new AsyncLocalStorage<OAuthRequest>();
  const deadline = createDeadline(timeoutMs);

  function current(): OAuthRequest {
    const request = requests.getStore();
    if (request === undefined) throw new Error('no request is in progress');
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
    /** Rejects with TIMEOUT at the deadline, and with what `handle` throws. */
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
    /** The result is not stored, so that no other request can send the result to the client. */
    finishWith(result: InteractionResults): void {
      current().finished = { result };
    },
    finished: () => current().finished,
    /**
     * Must be called before something is consumed that cannot be restored, such as a code. From then on the
     * request runs to completion, so that its response reports what was done.
     * @throws TIMEOUT if the deadline has passed
     */
    settle(): void {
      if (!current().cancellation.close()) throw tooLate();
    },
    database: ofRequest,
  };
}

/** The client has disconnected and does not receive this error. */
const createDisconnectedError = () => new ApiError('BAD_REQUEST', 'The client disconnected.');

/** Resolves when the current work has finished and the event loop continues with other work. */
const waitForTimeSliceEnd = () =>
  new Promise<void>((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });

/**
 * A call is charged this much until it proves valid. The charge exceeds the use of any caller with valid
 * secrets. A caller with wrong secrets and no recent use therefore precedes others only once.
 */
const UNKNOWN_MS = 10_000;

export type ReportOutcome = (rejected: boolean) => void;

export type OAuthRequests = ReturnType<typeof createOAuthRequests>;

/**
 * Queues the library's calls, because each occupies the event loop for long. Users and programs have separate
 * queues, so that programs never wait behind pages. A queue runs one call at a time, and then pauses for as
 * long as the call took. OAuth therefore gets at most half of the event loop, and each of two busy queues a
 * quarter.
 */
export function createOAuthRequestQueue(maxWaiting: number, metrics: Metrics) {
  // Only usage decides the order, not waiting time. Owners who wait long are the ones with many queued calls.
  const options = { concurrency: 1, maxWaiting, maxPriorityWaitMs: 0 };
  const queues: Readonly<Record<Audience, FairQueue>> = {
    user: new FairQueue(options),
    program: new FairQueue(options),
  };
  metrics.gauges(
    'content_graph_oauth_requests_waiting',
    'OAuth requests waiting for a slot: user for browsers, program for applications.',
    'caller',
    () => Object.entries(queues).map(([audience, { waitingCount }]) => [audience, waitingCount]),
  );
  /** Milliseconds that the calls of each queue have used since the queue's last pause. */
  const owedMs: Record<Audience, number> = { user: 0, program: 0 };

  /** The measurement ends when the event loop continues with other work. */
  async function measure({ audience, owner }: OAuthRequest): Promise<void> {
    const beganMs = performance.now();
    await waitForTimeSliceEnd();
    const tookMs = performance.now() - beganMs;
    queues[audience].use.add(owner, tookMs);
    // Work without a slot does not extend the pause.
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
     * Resolves when the call of a request may begin. A request whose deadline has passed or whose client has
     * disconnected gives up its slot.
     * @throws {QueueFullError}
     */
    async take(
      work: OAuthRequest,
      disconnectSignal: AdmittedRequest['disconnectSignal'],
    ): Promise<ReportOutcome> {
      const { audience, owner, cancellation } = work;
      const queue = queues[audience];
      const hasDisconnected = () => disconnectSignal?.disconnected === true;
      if (hasDisconnected()) throw createDisconnectedError();
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
        throw hasDisconnected() ? createDisconnectedError() : error;
      }
      void leaveAfter(work, owner);
      const weight = queue.use.add(owner, UNKNOWN_MS);
      return (rejected) => {
        if (!rejected) queue.use.takeBack(owner, weight);
      };
    },
  };
}
