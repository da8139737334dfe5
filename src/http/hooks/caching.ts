import { hash } from 'node:crypto';
import { canExecute, isAnonymous } from '../../auth/principal.ts';
import type { AdmittedRequest } from '../exchange.ts';
import type { AskedRequest } from '../lifecycle.ts';
import { HttpResponse } from '../message.ts';
import type { Encoding } from './compression.ts';

const RESPONSE_TYPE = 'application/graphql-response+json';
/** 162 bits of the digest, in characters of base64url. */
const DIGEST_LENGTH = 27;

/**
 * The strong validator of a response in a coding, as an ETag (RFC 9110 section 8.8.3). It names the bytes of one
 * representation, so those that differ in media type or coding have validators of their own.
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

/** All that can be ours. */
const VALIDATORS = /"[\w-]+["]/g;

/**
 * Whether a client has the representation with this validator, by the If-None-Match that it sent. The comparison is weak,
 * as that field requires (RFC 9110 section 13.1.2): a proxy that compresses makes strong ones weak.
 */
function hasRepresentation(ifNoneMatch: string, validator: string): boolean {
  return ifNoneMatch.trim() === '*' || (ifNoneMatch.match(VALIDATORS)?.includes(validator) ?? false);
}

/** For files that may have changed: they are asked for again each time (RFC 9111 section 5.2.2.4). */
export const ASKED_AGAIN = 'no-cache';
/** The caller's own cache may keep it, and asks before each use. */
const PRIVATE = 'private, no-cache';
/** What asks for more than the response: nobody else would get the same. */
const SHOWN = /^x-show-/;

/** A response with what caches may do with it. */
export interface CacheableResponse {
  /** Has the validator of its representation. A 304 if the client has it already (RFC 9110 section 13.2.2). */
  readonly response: HttpResponse;
  /** The Cache-Control of the response; undefined if the value of the route applies. */
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

/** Whether the same request can have the same response again: a query over GET, whole and without errors, or a file. */
function canBeAskedAgain(
  { status, headers, cookies, operation, errorCodes }: HttpResponse,
  { method }: AskedRequest,
) {
  if ((method !== 'GET' && method !== 'HEAD') || status !== 200 || cookies.length > 0) return false;
  if (operation === undefined) return headers.get('cache-control') === ASKED_AGAIN;
  if (operation.kind !== 'query' || errorCodes.length > 0) return false;
  // An event stream has its own.
  return !headers.has('cache-control');
}

/** 304, with what describes the response to caches, and nothing that describes its body (RFC 9110 section 15.4.5). */
function notModified({ headers, operation }: HttpResponse): HttpResponse {
  const short = new HttpResponse('', { status: 304, operation });
  for (const [name, value] of headers) if (!name.startsWith('content-type')) short.headers.set(name, value);
  return short;
}

/** Whether the response is the same for everybody who asks with the same address, for as long as it is fresh. */
const isForEverybody = ({ caller, credentials }: AdmittedRequest, { operation }: HttpResponse): boolean =>
  credentials.place === undefined &&
  isAnonymous(caller) &&
  canExecute(caller) &&
  operation?.published?.by === 'id';

/** `publicSeconds` is for how long shared caches may keep what everybody gets; 0 if they may not. */
export function createCaching(publicSeconds: number): Caching {
  const forEverybody = `public, max-age=0, s-maxage=${publicSeconds}, stale-while-revalidate=${publicSeconds}`;

  /** The Cache-Control of a response to a query; undefined if it must not be stored. */
  function cacheControlOf(
    { headers }: AskedRequest,
    admitted: AdmittedRequest,
    response: HttpResponse,
  ): string | undefined {
    for (const name of headers.keys()) if (SHOWN.test(name)) return undefined;
    const { place } = admitted.credentials;
    if (place === 'authorization') return PRIVATE;
    // Whoever uses the browser next must not find it, so only a page that keeps responses itself may have them checked.
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
