import type { HttpResponse } from '../../request/http-message.ts';
import type { ArrivingRequest, HttpPlugin } from '../plugin.ts';

/**
 * Answers the requests that are its own. All others pass without so much as a promise: every query meets every route.
 * Undefined leaves a request to what comes after.
 */
export function route(
  isOwn: (arriving: ArrivingRequest) => boolean,
  answer: (arriving: ArrivingRequest) => Promise<HttpResponse | undefined>,
): HttpPlugin {
  async function take(arriving: ArrivingRequest): Promise<void> {
    const response = await answer(arriving);
    if (response !== undefined) arriving.endResponse(response);
  }
  return {
    onRequest: (arriving) => (isOwn(arriving) ? take(arriving) : undefined),
  };
}
