import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** Responses to what Node's parser refuses before there is a request, by its error code. */
const ANSWERS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The URL and the headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};
const OTHERWISE: readonly [string, string] = ['400 Bad Request', 'The request is not valid HTTP.'];

/**
 * How long a client may read the response before the connection is destroyed, even if it is still sending.
 */
const LINGER_MS = 1_000;

/** Answers a connection whose request could not be parsed, in the format of all refusals, and closes it. */
export function answerClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = ANSWERS[error.code ?? ''] ?? OTHERWISE;
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${randomUUID()}`,
      'cache-control: no-store',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  // end() closes only our half: a client that sends a byte at a time could keep the other half open for ever.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
