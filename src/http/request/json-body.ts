import { Buffer, isAscii } from 'node:buffer';
import { ApiError } from '../../graphql/errors.ts';
import { remember } from '../../platform/small-map.ts';
import type { HttpRequest } from '../../request/http-message.ts';
import { readField } from '../../request/request-fields.ts';
import { excessOf } from './json-bounds.ts';

/** The refusal of a request that the route does not accept (contract section 4). */
export function badRequest(message: string, status = 400, headers = {}): ApiError {
  return new ApiError('BAD_REQUEST', message, { status, headers });
}

export function bodyTooLarge(maxBodyBytes: number): ApiError {
  return badRequest(`The body is larger than ${maxBodyBytes} bytes.`, 413);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON within its bounds. `what` names the input in the error message. Throws BAD_REQUEST. */
export function parseJson(text: string, what: string): unknown {
  const excess = excessOf(text);
  if (excess !== undefined) throw badRequest(`${what} ${excess}.`);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest(`${what} is not valid JSON.`);
  }
}

const isJsonType = remember((header) => {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return type === 'application/json' && (charset === undefined || /^charset="?utf-?8"?$/.test(charset));
});

/** Requires JSON in UTF-8. Another site could post form or multipart bodies without a preflight. */
function checkContentType(header: string | undefined): void {
  if (!isJsonType(header ?? '')) {
    throw badRequest('The body must be "application/json" in UTF-8.', 415, {
      'accept-post': 'application/json',
    });
  }
}

/** Refuses encoded bodies (contract section 2): nothing would limit their size once decoded. */
export function checkContentEncoding(headers: Pick<Headers, 'has'>): void {
  if (headers.has('content-encoding'))
    throw badRequest('The body must not have a Content-Encoding.', 415, {
      'accept-encoding': 'identity',
    });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: ArrayBuffer | Uint8Array): string {
  try {
    // Most bodies are ASCII, where each byte is one character.
    if (Buffer.isBuffer(bytes) && isAscii(bytes)) return bytes.toString('latin1');
    return utf8.decode(bytes);
  } catch {
    throw badRequest('The body is not valid UTF-8.');
  }
}

/** Reads a JSON body of at most `maxBodyBytes`. Throws BAD_REQUEST. */
export async function readJsonBody(request: HttpRequest, maxBodyBytes: number): Promise<unknown> {
  checkContentEncoding(request.headers);
  checkContentType(readField(request.headers, 'content-type'));
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  return parseJson(decode(bytes), 'The body');
}
