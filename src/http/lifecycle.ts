import { createDeadline, within } from '../platform/deadline.ts';
import { ApiError } from '../platform/errors.ts';
import type { RequestState } from './exchange.ts';
import type { HttpRequest, HttpResponse, RequestUrl } from './message.ts';

/** What a plugin sees of a request on its way out. */
export type AskedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'>;

/** A step that every request and response passes. What differs by path is in the request's route. */
export interface HttpPlugin {
  /** Throws or rejects with what the request is refused with. */
  onRequest?(request: HttpRequest, state: RequestState, url: RequestUrl): Promise<void> | void;
  onResponse?(
    request: AskedRequest,
    response: Pick<HttpResponse, 'status' | 'headers'>,
    state: RequestState,
    url: RequestUrl,
  ): void;
}

type Hook = NonNullable<HttpPlugin['onRequest']>;

/** The steps of a request before its route, within a time limit. */
export function createRequestHooks(hooks: readonly Hook[], timeoutMs: number) {
  const deadline = createDeadline(timeoutMs);
  const tooLate = () =>
    new ApiError('SERVICE_UNAVAILABLE', `The request could not be admitted within ${timeoutMs} ms.`, {
      headers: { 'retry-after': '1' },
    });

  /** The first hook that waits starts the time limit of all that follow. */
  function runRest(first: Promise<void>, from: number, given: [HttpRequest, RequestState, RequestUrl]) {
    let isLate = false;
    const run = async () => {
      await first;
      for (const hook of hooks.slice(from)) {
        // The client has its response: nothing may be counted or kept for the request any more.
        if (isLate) return;
        const waiting = hook(...given);
        if (waiting !== undefined) await waiting;
      }
    };
    return within(deadline, run(), () => {
      isLate = true;
      return tooLate();
    });
  }

  return {
    /**
     * Runs the hooks in order. Hooks that return nothing are not awaited, and undefined says that no hook waits. Throws or
     * rejects with a refusal.
     */
    run(...given: Parameters<Hook>): Promise<void> | undefined {
      for (const [at, hook] of hooks.entries()) {
        const waiting = hook(...given);
        if (waiting !== undefined) return runRest(waiting, at + 1, given);
      }
      return undefined;
    },
    /** Rejects with SERVICE_UNAVAILABLE if other work before the operation takes too long. */
    inTime: <T>(work: Promise<T>): Promise<T> => within(deadline, work, tooLate),
  };
}
