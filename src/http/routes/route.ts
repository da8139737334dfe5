import type { HttpResponse } from '../../request/http-message.ts';
import type { HttpPlugin, IncomingRequest } from '../plugin.ts';

/**
 * Answers the requests that belong to a route. All others pass without creating a promise, since every query
 * meets every route. If `answer` resolves to undefined, the request passes on to later plugins.
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
