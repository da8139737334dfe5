import { ApiError } from '../../graphql/errors.ts';
import { eventLoop } from '../../platform/event-loop.ts';
import type { Logger } from '../../platform/log.ts';
import { holderOf } from '../../request/caller.ts';
import type { HttpPlugin } from '../plugin.ts';
import { errorResponse } from '../response/error-response.ts';

function tooMuch(): ApiError {
  return new ApiError('RATE_LIMITED', 'Too many of your requests with large bodies are waiting. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

/**
 * Has a request wait for its turn on the event loop, before anything of its body is parsed (decision 16). Runs after
 * the rate limit, when its owner is known; what is refused there waits for nothing. From here on its body is its owner's.
 */
export function useTurns(log: Logger): HttpPlugin {
  return {
    onRequest({ state, endResponse }) {
      const owner = holderOf(state);
      if (state.body?.own(owner) === false) return endResponse(errorResponse(tooMuch(), state, log));
      const waiting = eventLoop.enter(owner);
      return waiting?.catch((error: unknown) => endResponse(errorResponse(error, state, log)));
    },
  };
}
