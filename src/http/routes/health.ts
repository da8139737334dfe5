import { build } from '../../platform/build.ts';
import type { Answer } from '../../request/request-state.ts';
import { jsonResponse } from '../response/json-response.ts';
import type { Readiness } from './readiness.ts';

/** `/health/live`: the process responds, and says what it is. */
export const answerLive: Answer = async () => jsonResponse({ status: 'ok', ...build() });

/** `/health/ready`: the service can serve requests, so a load balancer may send some. */
export function readyAnswer({ problem }: Pick<Readiness, 'problem'>): Answer {
  return async () => {
    const reason = await problem();
    if (reason === undefined) return jsonResponse({ status: 'ok' });
    const errors = [{ message: reason, extensions: { code: 'SERVICE_UNAVAILABLE' } }];
    return jsonResponse({ status: 'unavailable', reason, errors }, 503);
  };
}
