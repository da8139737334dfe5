import { ApiError, addressBlocked } from '../../graphql/errors.ts';
import { eventLoop } from '../../platform/event-loop.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { holderOf } from '../../request/caller.ts';
import type { Origins } from '../../request/origin-check.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { Restrictions } from '../../restrictions/restrictions.ts';
import type { HttpPlugin } from '../plugin.ts';
import { badRequest } from './body.ts';

/** Refuses the requests of blocked addresses, before their credentials are looked at. */
export function useBlocks(
  restrictions: Pick<Restrictions, 'blocks' | 'loading'>,
  metrics: Metrics,
): HttpPlugin {
  const refused = metrics.counter(
    'blocked_requests_total',
    'Requests of blocked addresses, refused with 403.',
  );
  function check(state: RequestState): void {
    if (!restrictions.blocks(state)) return;
    state.blocked = true;
    refused.inc();
    throw addressBlocked();
  }
  return {
    onRequest(_request, state) {
      if (state.route.probe) return undefined;
      if (restrictions.loading === undefined) return check(state);
      return restrictions.loading.then(() => check(state));
    },
  };
}

/**
 * Judges what browsers say of a request (the `Origin` header; Fetch Metadata, section 2), before its credentials are
 * looked up: a refused one changes no cookie and costs no look-up.
 */
export function useSites({ check, checkOwn }: Pick<Origins, 'check' | 'checkOwn'>): HttpPlugin {
  return {
    onRequest(request, state) {
      const { headers, method } = request;
      const { documentOnly, originCheck, methods } = state.route;
      // Images and frames on a page of another site must neither begin a sign-in nor use up the tokens for pages.
      if (documentOnly && (headers.get('sec-fetch-dest') ?? 'document') !== 'document')
        throw badRequest(
          'This page opens in a window or a tab of its own, not in a frame or as a part of another page.',
        );
      if (method === 'GET' || method === 'HEAD' || !methods.includes(method)) return;
      if (originCheck === 'always') state.authenticationError = check(request);
      else if (originCheck === 'own') state.authenticationError = checkOwn(request);
    },
  };
}

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
