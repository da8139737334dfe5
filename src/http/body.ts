import { Buffer, isAscii } from 'node:buffer';
import { memoize } from '../platform/cache.ts';
import { ApiError } from '../platform/errors.ts';
import { readField } from '../platform/request-fields.ts';
import type { HttpRequest } from './message.ts';

/** The cost of JSON depends on its values and their nesting, not on its bytes (contract: transport). */
export const MAX_JSON_VALUES = 20_000;
export const MAX_JSON_LEVELS = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Returns the index of the closing quote, or the length of `text` if there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return at;
  }
}

/** All code points up to the space count as white space. */
const isSpace = (code: number) => code <= 0x20;

/**
 * Returns the exceeded limit, or undefined. Counting brackets and commas outside strings gives the number of values
 * of every valid JSON text. Arrays and objects are values, too.
 */
export function excessOf(text: string): string | undefined {
  let values = 1;
  let levels = 0;
  /** True if the array or object that was opened last has no member yet. */
  let empty = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isSpace(code)) continue;
    if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      levels -= 1;
      empty = false;
      continue;
    }
    if (empty || code === COMMA) {
      values += 1;
      if (values > MAX_JSON_VALUES) return `has more than ${MAX_JSON_VALUES} values`;
    }
    empty = code === OPEN_BRACKET || code === OPEN_BRACE;
    if (empty) {
      levels += 1;
      if (levels > MAX_JSON_LEVELS) return `is nested more than ${MAX_JSON_LEVELS} levels deep`;
    } else if (code === QUOTE) at = endOfString(text, at);
  }
  return undefined;
}

export function badRequest(message: string, status = 400, headers = {}): ApiError {
  return new ApiError('BAD_REQUEST', message, { status, headers });
}

export function bodyTooLarge(maxBodyBytes: number): ApiError {
  return badRequest(`The body exceeds the limit of ${maxBodyBytes} bytes. Send less.`, 413);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * `what` names the input in the error message.
 * @throws {ApiError} BAD_REQUEST
 */
export function parseJson(text: string, what: string): unknown {
  const excess = excessOf(text);
  if (excess !== undefined) throw badRequest(`${what} ${excess}.`);
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest(`${what} is not valid JSON.`);
  }
}

const isJsonType = memoize((header) => {
  const [type = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return type === 'application/json' && (charset === undefined || /^charset="?utf-?8"?$/.test(charset));
});

/** Another site could send form or multipart bodies without a preflight. */
function checkContentType(header: string | undefined): void {
  if (!isJsonType(header ?? '')) {
    throw badRequest('The Content-Type of the body must be application/json in UTF-8.', 415, {
      'accept-post': 'application/json',
    });
  }
}

/** Nothing would limit the decoded size of an encoded body (contract: transport). */
function checkContentEncoding(headers: Pick<Headers, 'has'>): void {
  if (headers.has('content-encoding'))
    throw badRequest(
      'Compressed bodies are not supported. Remove Content-Encoding, and send the body uncompressed.',
      415,
      {
        'accept-encoding': 'identity',
      },
    );
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

export async function readJsonBody(request: HttpRequest, maxBodyBytes: number): Promise<unknown> {
  checkContentEncoding(request.headers);
  checkContentType(readField(request.headers, 'content-type'));
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  return parseJson(decode(bytes), 'The body');
}

/** Forms of the service need less. */
const MAX_FORM_BYTES = 50_000;

export const FORM_TYPE = 'application/x-www-form-urlencoded';

export async function readForm(request: HttpRequest): Promise<URLSearchParams> {
  checkContentEncoding(request.headers);
  const [type = ''] = (readField(request.headers, 'content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== FORM_TYPE)
    throw badRequest(`The Content-Type of the body must be ${FORM_TYPE}.`, 400);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > MAX_FORM_BYTES) throw bodyTooLarge(MAX_FORM_BYTES);
  return new URLSearchParams(new TextDecoder().decode(bytes));
}
