import { ApiError } from '../../graphql/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { errorResponse, jsonResponse } from '../error-response.ts';
import type { HttpPlugin } from '../request-state.ts';

export interface HealthOptions {
  readonly version: string;
  /** Why the service cannot take requests right now; undefined where it can. */
  readonly problem: () => Promise<string | undefined>;
  readonly log: Logger;
}

/** `/health/live`: the process answers. `/health/ready`: it can do its work, so a balancer may send it some. */
export function useHealth({ version, problem, log }: HealthOptions): HttpPlugin {
  return {
    async onRequest({ request, url, serverContext: { state }, endResponse }) {
      if (url.pathname !== '/health/live' && url.pathname !== '/health/ready') return undefined;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const refusal = new ApiError('BAD_REQUEST', 'Health is asked for with GET.', {
          status: 405,
          headers: { allow: 'GET, HEAD' },
        });
        return endResponse(errorResponse(refusal, state, log));
      }
      if (url.pathname === '/health/live') return endResponse(jsonResponse({ status: 'ok', version }));
      const reason = await problem();
      return endResponse(
        reason === undefined
          ? jsonResponse({ status: 'ok' })
          : jsonResponse(
              {
                status: 'unavailable',
                reason,
                errors: [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }],
              },
              503,
            ),
      );
    },
  };
}
