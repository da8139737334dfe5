import { Buffer, isAscii } from 'node:buffer';
import { ApiError } from '../../graphql/errors.ts';
import { remember } from '../../platform/remember.ts';
import type { HttpRequest } from '../../request/http-message.ts';

/** The refusal of a request that is not what the route takes (contract section 4). */
export function badRequest(message: string, status = 400, headers = {}): ApiError {
  return new ApiError('BAD_REQUEST', message, { status, headers });
}

export function bodyTooLarge(maxBodyBytes: number): ApiError {
  return badRequest(`The body is larger than ${maxBodyBytes} bytes.`, 413);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses JSON; `what` names it in the refusal. Throws BAD_REQUEST. */
export function parseJson(text: string, what: string): unknown {
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

/** The media type is JSON in UTF-8; form and multipart bodies would let another site post without a preflight. */
function checkContentType(header: string | null): void {
  if (!isJsonType(header ?? '')) {
    throw badRequest('The body must be "application/json" in UTF-8.', 415, {
      'accept-post': 'application/json',
    });
  }
}

/** A body is taken as it is (contract section 2): what a decoder would make of it has no limit of its own. */
export function checkContentEncoding(headers: Pick<Headers, 'has'>): void {
  if (headers.has('content-encoding'))
    throw badRequest('The body must come without a Content-Encoding.', 415, {
      'accept-encoding': 'identity',
    });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: ArrayBuffer | Uint8Array): string {
  try {
    // Most bodies are ASCII, and each byte of that is a character.
    if (Buffer.isBuffer(bytes) && isAscii(bytes)) return bytes.toString('latin1');
    return utf8.decode(bytes);
  } catch {
    throw badRequest('The body is not valid UTF-8.');
  }
}

/** The body of a request, which must be JSON of at most so many bytes. Throws BAD_REQUEST. */
export async function readJsonBody(request: HttpRequest, maxBodyBytes: number): Promise<unknown> {
  checkContentEncoding(request.headers);
  checkContentType(request.headers.get('content-type'));
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  return parseJson(decode(bytes), 'The body');
}
