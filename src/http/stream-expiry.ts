import type { ExecutionResult } from 'graphql';
import { isAuthenticated, type Principal } from '../auth/principal.ts';
import { unauthenticated } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import { refusedResult } from './masked-result.ts';
import type { OperationContext } from './request-state.ts';

export interface StreamExpiryOptions {
  /** Whether the credentials still hold. A rejection is no answer: they are asked again. */
  readonly stillValid: (principal: Principal) => Promise<boolean>;
  /** The longest time between two questions. */
  readonly recheckMs: number;
  readonly now: () => number;
  readonly log: Logger;
}

/** Passes the results of a stream on for as long as its caller's credentials hold. */
export type StreamExpiry = (
  results: AsyncIterable<ExecutionResult>,
  context: OperationContext,
) => AsyncIterable<ExecutionResult>;

/** Calls `onEnd` once the credentials have ended. Returns what stops the watch. */
function watch(
  principal: Principal,
  { stillValid, recheckMs, now, log }: StreamExpiryOptions,
  onEnd: () => void,
): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const schedule = () => {
    const untilExpiryMs = (principal.expiresAtMs ?? Number.POSITIVE_INFINITY) - now();
    // A clock that is ahead sees it in the past while it holds.
    const waitMs = untilExpiryMs > 0 ? Math.min(recheckMs, untilExpiryMs) : recheckMs;
    timer = setTimeout(() => void check(), Math.max(1, waitMs)).unref();
  };
  const check = async () => {
    const holds = await stillValid(principal).catch((error: unknown) => {
      log.warn({ err: error }, 'the credentials behind an event stream could not be checked; trying again');
      return true;
    });
    if (stopped) return;
    if (holds) schedule();
    else onEnd();
  };
  schedule();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function* untilExpiry(
  results: AsyncIterable<ExecutionResult>,
  context: OperationContext,
  principal: Principal,
  options: StreamExpiryOptions,
): AsyncGenerator<ExecutionResult> {
  const iterator = results[Symbol.asyncIterator]();
  let ended = false;
  let wake = () => {};
  const stop = watch(principal, options, () => {
    ended = true;
    wake();
  });
  try {
    while (!ended) {
      // One promise a result: racing each against one that lives as long as the stream would gather in memory.
      const result = await new Promise<IteratorResult<ExecutionResult> | undefined>((resolve, reject) => {
        wake = () => resolve(undefined);
        iterator.next().then(resolve, reject);
      });
      if (result === undefined) break;
      if (result.done) return;
      yield result.value;
    }
    const error = unauthenticated('The credentials behind this stream have expired or been revoked.');
    yield refusedResult(error, context, options.log);
  } finally {
    stop();
    // It may still wait for an event: it ends with the stream's own signal, and nobody needs to wait for that.
    iterator
      .return?.()
      .catch((error: unknown) => options.log.debug({ err: error }, 'a closed stream failed'));
  }
}

/**
 * Contract section 3: after the credentials behind a stream end it gets one result with UNAUTHENTICATED, and is over.
 * They are looked up again every `recheckMs`, and at the time when they are known to expire.
 */
export function createStreamExpiry(options: StreamExpiryOptions): StreamExpiry {
  return (results, context) => {
    const { caller } = context.state;
    return caller !== undefined && isAuthenticated(caller)
      ? untilExpiry(results, context, caller, options)
      : results;
  };
}
