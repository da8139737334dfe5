import type { IncomingMessage } from 'node:http';
import type { ApiError } from '../graphql/errors.ts';
import { bodyTooLarge } from './json-body.ts';

export interface ReceivedBody {
  readonly bytes: Buffer<ArrayBuffer> | undefined;
  /** The body broke the limit: the rest of it is not read, and the connection cannot be used again. */
  readonly refusal: ApiError | undefined;
}

/**
 * Collects the body of a request up to a limit. A length announced beyond it is refused before a byte is read.
 * Rejects where the client goes away before the end.
 */
export function receiveBody(request: IncomingMessage, maxBytes: number): Promise<ReceivedBody> {
  const tooLarge = (): ReceivedBody => ({ bytes: undefined, refusal: bodyTooLarge(maxBytes) });
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer<ArrayBuffer>[] = [];
    let length = 0;
    let ended = false;
    request.on('data', (chunk: Buffer<ArrayBuffer>) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.pause();
        resolve(tooLarge());
      } else chunks.push(chunk);
    });
    request.on('end', () => {
      ended = true;
      resolve({ bytes: chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), refusal: undefined });
    });
    request.on('error', reject);
    // It closes after its end as well, and an error that nobody sees costs its stack.
    request.on('close', () => {
      if (!ended) reject(new Error('the client went away'));
    });
  });
}
