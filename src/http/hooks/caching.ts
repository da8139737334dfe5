import { hash } from 'node:crypto';
import { canExecute, isAnonymous } from '../../auth/principal.ts';
import type { AdmittedRequest } from '../exchange.ts';
import type { AskedRequest } from '../lifecycle.ts';
import { HttpResponse } from '../message.ts';
import type { Encoding } from './compression.ts';

const RESPONSE_TYPE = 'application/graphql-response+json';
/** 27 characters of base64url have 162 bits of the digest. */
const DIGEST_LENGTH = 27;

/**
 * The strong validator names the bytes of one representation (RFC 9110 §8.8.3). Representations that differ in media
 * type or coding have different validators.
 */
function computeEtag(
  content: string | Buffer,
  { headers }: HttpResponse,
  encoding: Encoding | undefined,
): string {
  const digest = hash('sha256', content, 'base64url').slice(0, DIGEST_LENGTH);
  const type = headers.get('content-type')?.startsWith(RESPONSE_TYPE) ? '-response' : '';
  return `"${digest}${type}${encoding === undefined ? '' : `-${encoding}`}"`;
}

const VALIDATORS = /"[\w-]+["]/g;

/**
 * The comparison is weak, as If-None-Match requires (RFC 9110 §13.1.2), because a proxy that compresses weakens
 * strong validators.
 */
function hasRepresentation(ifNoneMatch: string, validator: string): boolean {
  return ifNoneMatch.trim() === '*' || (ifNoneMatch.match(VALIDATORS)?.includes(validator) ?? false);
}

/** Caches must revalidate files that may have changed (RFC 9111 §5.2.2.4). */
export const ASKED_AGAIN = 'no-cache';
/** Only the caller's cache may store the response, and must revalidate it before each use. */
const PRIVATE = 'private, no-cache';
/** These fields ask for more than the response, so no other client would get the same response. */
const SHOWN = /^x-show-/;

export interface CacheableResponse {
  /** The response is a 304 if the client has the representation already (RFC 9110 §13.2.2). */
  readonly response: HttpResponse;
  /** Undefined if the Cache-Control of the route applies. */
  readonly cacheControl: string | undefined;
  /** True if shared caches may send the response to other clients. */
  readonly isShared: boolean;
}

export type Caching = (
  response: HttpResponse,
  request: AskedRequest,
  admitted: AdmittedRequest,
  encoding: Encoding | undefined,
) => CacheableResponse;

function canBeAskedAgain(
  { status, headers, cookies, operation, errorCodes }: HttpResponse,
  { method }: AskedRequest,
) {
  if ((method !== 'GET' && method !== 'HEAD') || status !== 200 || cookies.length > 0) return false;
  if (operation === undefined) return headers.get('cache-control') === ASKED_AGAIN;
  if (operation.kind !== 'query' || errorCodes.length > 0) return false;
  // An event stream has a Cache-Control already.
  return !headers.has('cache-control');
}

/**
 * A 304 has the fields that describe the response to caches. No field of a 304 describes the body (RFC 9110 §15.4.5).
 */
function notModified({ headers, operation }: HttpResponse): HttpResponse {
  const short = new HttpResponse('', { status: 304, operation });
  for (const [name, value] of headers) if (!name.startsWith('content-type')) short.headers.set(name, value);
  return short;
}

/** True if every client gets the same response for the URL while the response is fresh. */
const isForEverybody = ({ caller, credentials }: AdmittedRequest, { operation }: HttpResponse): boolean =>
  credentials.place === undefined &&
  isAnonymous(caller) &&
  canExecute(caller) &&
  operation?.published?.by === 'id';

/** Shared caches may store public responses for `publicSeconds`. With 0, they may not store any. */
export function createCaching(publicSeconds: number): Caching {
  const forEverybody = `public, max-age=0, s-maxage=${publicSeconds}, stale-while-revalidate=${publicSeconds}`;

  function cacheControlOf(
    { headers }: AskedRequest,
    admitted: AdmittedRequest,
    response: HttpResponse,
  ): string | undefined {
    for (const name of headers.keys()) if (SHOWN.test(name)) return undefined;
    const { place } = admitted.credentials;
    if (place === 'authorization') return PRIVATE;
    // The next user of the browser must not find the response. So only a page that stores responses itself may
    // revalidate them.
    if (place === 'cookie') return headers.has('if-none-match') ? PRIVATE : undefined;
    return publicSeconds > 0 && isForEverybody(admitted, response) ? forEverybody : undefined;
  }

  return (response, request, admitted, encoding) => {
    const { whole } = response;
    if (whole === undefined || !canBeAskedAgain(response, request))
      return { response, cacheControl: undefined, isShared: false };
    const validator = computeEtag(whole, response, encoding);
    response.headers.set('etag', validator);
    const cacheControl =
      response.operation === undefined ? undefined : cacheControlOf(request, admitted, response);
    const isShared = cacheControl === forEverybody;
    const known = request.headers.get('if-none-match');
    if (known === null || !hasRepresentation(known, validator)) return { response, cacheControl, isShared };
    return { response: notModified(response), cacheControl, isShared };
  };
}
