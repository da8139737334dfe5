import packageJson from '../../../package.json' with { type: 'json' };
import type { Answer } from '../../request/request-state.ts';
import { jsonResponse } from '../response/error-response.ts';
import type { Readiness } from './readiness.ts';

/** `/health/live`: the process responds. */
export const answerLive: Answer = async () => jsonResponse({ status: 'ok', version: packageJson.version });

/** `/health/ready`: the service can serve requests, so a load balancer may send some. */
export function readyAnswer({ problem }: Pick<Readiness, 'problem'>): Answer {
  return async () => {
    const reason = await problem();
    if (reason === undefined) return jsonResponse({ status: 'ok' });
    const errors = [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }];
    return jsonResponse({ status: 'unavailable', reason, errors }, 503);
  };
}
