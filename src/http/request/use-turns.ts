import { ApiError } from '../../graphql/errors.ts';
import { eventLoop } from '../../platform/event-loop.ts';
import { holderOf } from '../../request/caller.ts';
import type { HttpPlugin } from '../plugin.ts';

function tooMuch(): ApiError {
  return new ApiError('RATE_LIMITED', 'Too many of your requests with large bodies are waiting. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

/**
 * Has a request wait for its turn on the event loop, before anything of its body is parsed (decision 16). Runs after
 * the rate limit, when its owner is known; what is refused there waits for nothing. From here on its body is its owner's.
 */
export function useTurns(): HttpPlugin {
  return {
    onRequest(_request, state) {
      if (state.route.credentials === 'ignored') return undefined;
      const owner = holderOf(state);
      if (state.body?.own(owner) === false) throw tooMuch();
      return eventLoop.enter(owner);
    },
  };
}
