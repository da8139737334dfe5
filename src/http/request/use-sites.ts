import type { Origins } from '../../request/origin-check.ts';
import type { HttpPlugin } from '../plugin.ts';
import { badRequest } from './json-body.ts';

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
