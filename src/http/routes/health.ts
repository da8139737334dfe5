import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { HttpPlugin } from '../plugin.ts';
import { errorResponse, jsonResponse } from '../response/error-response.ts';
import { route } from './route.ts';

const LIVE = '/health/live';
const READY = '/health/ready';

export interface HealthOptions {
  readonly version: string;
  /** Why the service cannot serve requests right now; undefined if it can. */
  readonly problem: () => Promise<string | undefined>;
  readonly log: Logger;
}

/**
 * `/health/live`: the process responds. `/health/ready`: it can serve requests, so a load balancer may send
 * some.
 */
export function useHealth({ version, problem, log }: HealthOptions): HttpPlugin {
  return route(
    ({ url }) => url.pathname === LIVE || url.pathname === READY,
    async ({ request, url, state }) => {
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const refusal = new ApiError('BAD_REQUEST', 'Health endpoints accept GET and HEAD only.', {
          status: 405,
          headers: { allow: 'GET, HEAD' },
        });
        return errorResponse(refusal, state, log);
      }
      if (url.pathname === LIVE) return jsonResponse({ status: 'ok', version });
      const reason = await problem();
      if (reason === undefined) return jsonResponse({ status: 'ok' });
      const errors = [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }];
      return jsonResponse({ status: 'unavailable', reason, errors }, 503);
    },
  );
}
