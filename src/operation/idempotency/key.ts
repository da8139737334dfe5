import { ApiError } from '../../graphql/errors.ts';

const MAX_LENGTH = 255;
const PRINTABLE = /^[\x20-\x7e]+$/;
/** RFC 8941 section 3.3.3: in a quoted string only quotes and backslashes are escaped. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

function malformed(): ApiError {
  return new ApiError(
    'BAD_REQUEST',
    `"Idempotency-Key" must be 1 to ${MAX_LENGTH} printable characters, bare or as a quoted string.`,
  );
}

/**
 * The key in the header; bare and quoted forms are equal. Throws BAD_REQUEST if it is neither (contract
 * section 6).
 */
export function parseIdempotencyKey(header: string): string {
  const text = header.trim();
  const quoted = text.startsWith('"') ? QUOTED.exec(text)?.[1] : text;
  const key = text.startsWith('"') ? quoted?.replace(/\\(["\\])/g, '$1') : quoted;
  if (key === undefined || key.length === 0 || key.length > MAX_LENGTH || !PRINTABLE.test(key))
    throw malformed();
  return key;
}
