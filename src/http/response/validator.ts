import { hash } from 'node:crypto';
import { BytesResponse, type PlainResponse } from '../../request/http-message.ts';
import type { Encoding } from './accept-encoding.ts';

const RESPONSE_TYPE = 'application/graphql-response+json';
/** 162 bits of the digest, in characters of base64url. */
const DIGEST_LENGTH = 27;

/**
 * The strong validator of a response in a coding, as an ETag (RFC 9110 section 8.8.3). It names the bytes of one
 * representation, so those that differ in media type or coding have validators of their own.
 */
export function validatorOf(response: PlainResponse, encoding: Encoding | undefined): string {
  const content = response instanceof BytesResponse ? response.bytes : response.text;
  const digest = hash('sha256', content, 'base64url').slice(0, DIGEST_LENGTH);
  const type = response.headers.get('content-type')?.startsWith(RESPONSE_TYPE) ? '-response' : '';
  return `"${digest}${type}${encoding === undefined ? '' : `-${encoding}`}"`;
}

/** All that can be ours. */
const VALIDATORS = /"[\w-]+["]/g;

/**
 * Whether a client has the representation with this validator, by the If-None-Match that it sent. The comparison is weak,
 * as that field requires (RFC 9110 section 13.1.2): a proxy that compresses makes strong ones weak.
 */
export function hasRepresentation(ifNoneMatch: string, validator: string): boolean {
  return ifNoneMatch.trim() === '*' || (ifNoneMatch.match(VALIDATORS)?.includes(validator) ?? false);
}
