import type { HttpResponse } from '../../request/http-message.ts';
import type { HttpPlugin, IncomingRequest } from '../plugin.ts';

/**
 * Answers the requests that are its own. All others pass without so much as a promise: every query meets every route.
 * Undefined leaves a request to what comes after.
 */
export function route(
  isOwn: (arriving: IncomingRequest) => boolean,
  answer: (arriving: IncomingRequest) => Promise<HttpResponse | undefined>,
): HttpPlugin {
  async function take(arriving: IncomingRequest): Promise<void> {
    const response = await answer(arriving);
    if (response !== undefined) arriving.endResponse(response);
  }
  return {
    onRequest: (arriving) => (isOwn(arriving) ? take(arriving) : undefined),
  };
}
