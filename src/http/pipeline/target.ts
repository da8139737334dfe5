import { remember } from '../../platform/small-map.ts';
import type { RequestUrl } from '../../request/http-message.ts';
import { PATHS } from '../routes/table.ts';

/** A path of plain segments, with any query. Every parser reads such a target the same way. */
const PLAIN_TARGET = /^(?:\/\.?[\w-]+(?:\.[\w-]+)*)+(?:\?[\x21\x24-\x7e]*)?$/;
const PLAIN_METHODS = new Set<string | undefined>(['GET', 'HEAD', 'POST', 'OPTIONS']);

/** Whether the fast path handles a request. All others go through Yoga's HTTP handling. */
export const takes = (method: string | undefined, target: string | undefined): boolean =>
  target !== undefined &&
  PLAIN_METHODS.has(method) &&
  (target === PATHS.graphql || PLAIN_TARGET.test(target));

/** The GraphQL URL on a host. URL getters compute on each access, and nearly all requests ask for this URL. */
const graphqlUrl = remember((host): RequestUrl => {
  const { href, hostname, pathname, search, searchParams } = new URL(PATHS.graphql, `http://${host}`);
  return { href, hostname, pathname, search, searchParams };
});

/** The URL of a target that the fast path takes. */
export const urlOf = (target: string, host: string): RequestUrl =>
  target === PATHS.graphql ? graphqlUrl(host) : new URL(target, graphqlUrl(host).href);

/** Path and query, as the request line has them. */
export const targetOf = ({ pathname, search }: RequestUrl): string => pathname + search;
