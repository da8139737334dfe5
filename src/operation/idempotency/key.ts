import { ApiError } from '../../graphql/errors.ts';
import { type RequestFields, readField } from '../../request/request-fields.ts';

const MAX_LENGTH = 255;

/**
 * Reads the key of a mutation. Bare and quoted forms are equal (contract section 6).
 * @returns undefined if the request has no key
 * @throws {ApiError} BAD_REQUEST for a malformed key or several keys
 */
export function readIdempotencyKey(headers: Pick<RequestFields, 'get' | 'has'>): string | undefined {
  if (!headers.has('idempotency-key')) return undefined;
  const value = readField(headers, 'idempotency-key') ?? '';
  const key = value.startsWith('"') ? value.slice(1, -1).replace(/\\(["\\])/g, '$1') : value;
  if (key.length > 0 && key.length <= MAX_LENGTH) return key;
  throw new ApiError(
    'BAD_REQUEST',
    `The request must have one "Idempotency-Key" of 1 to ${MAX_LENGTH} printable ASCII characters. Quote a key that contains a comma.`,
  );
}
