import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** What Node's parser refuses before there is a request: its error code → the answer. */
const ANSWERS: Readonly<Record<string, readonly [string, string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The address and the headers are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};
const OTHERWISE: readonly [string, string] = ['400 Bad Request', 'This is not HTTP.'];

/** How long a client has to read the answer before the connection is gone, whatever it still sends. */
const LINGER_MS = 1_000;

/** Answers a connection that sent no request that could be read, in the shape of all refusals, and closes it. */
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
  // Ending it closes our half only: one that goes on sending, a byte at a time, would keep the rest for ever.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
