import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../graphql/errors.ts';
import { intake, type Source } from '../../platform/intake.ts';
import { bodyTooLarge } from '../request/body.ts';
import { type BodyBudget, BodyMemory } from './body-budget.ts';

export interface ReceivedBody {
  readonly bytes: Buffer<ArrayBuffer> | undefined;
  /** Set if the body was refused. The rest of it is not read, so the connection cannot be reused. */
  readonly refusal: ApiError | undefined;
  /** Undefined if nothing is counted. It is released when the request is answered. */
  readonly memory: BodyMemory | undefined;
}

export interface ReceiveOptions {
  /** Limit for this body. */
  readonly maxBytes: number;
  /** Limit for all bodies together. */
  readonly budget: BodyBudget;
}

const FIRST_CAPACITY = 1024;
const LARGE_CHUNK = 16_384;
const NOTHING = Buffer.alloc(0);

function noRoom(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', 'The service is receiving too much data at once. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

/**
 * Collects a request body up to a limit. A larger Content-Length is refused before a byte is read. Chunks are
 * copied into one buffer as they arrive: a one-byte chunk kept as it is would occupy a hundred. Rejects if
 * the client disconnects early.
 */
export function receiveBody(
  request: IncomingMessage,
  { maxBytes, budget }: ReceiveOptions,
): Promise<ReceivedBody> {
  const refused = (refusal: ApiError): ReceivedBody => ({ bytes: undefined, refusal, memory: undefined });
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  if (announced > maxBytes) return Promise.resolve(refused(bodyTooLarge(maxBytes)));
  return new Promise((resolve, reject) => {
    const expected = Number.isNaN(announced) ? maxBytes : announced;
    let whole: Buffer<ArrayBuffer> | undefined;
    let collected = NOTHING;
    let length = 0;
    let ended = false;
    const refuse = (refusal: ApiError) => {
      ended = true;
      request.pause();
      resolve(refused(refusal));
    };
    let source: Source | undefined;
    const sourceOf = (): Source => ({
      owner: request.socket.remoteAddress,
      number: intake.nextNumber(),
      // What is refused stays paused.
      stream: { pause: () => request.pause(), resume: () => !ended && request.resume() },
    });
    const memory = new BodyMemory(budget, () => refuse(noRoom()));

    function collect(chunk: Buffer<ArrayBuffer>): void {
      const needed = length + chunk.length;
      if (needed > collected.length) {
        const wanted = Math.max(2 * collected.length, FIRST_CAPACITY);
        const capacity = Math.max(needed, Math.min(wanted, expected));
        if (!memory.grow(capacity - collected.length)) return;
        const larger = Buffer.allocUnsafeSlow(capacity);
        collected.copy(larger, 0, 0, length);
        collected = larger;
      }
      chunk.copy(collected, length);
      length = needed;
    }

    request.on('data', (chunk: Buffer<ArrayBuffer>) => {
      if (ended) return;
      if (length + chunk.length > maxBytes) {
        memory.release();
        refuse(bodyTooLarge(maxBytes));
      } else if (chunk.length === announced) {
        if (memory.take(announced)) whole = chunk;
        else refuse(noRoom());
      } else {
        collect(chunk);
        // What is complete comes to its end.
        if (chunk.length < LARGE_CHUNK || length === announced) return;
        source ??= sourceOf();
        intake.take(source, chunk.length);
      }
    });
    request.on('end', () => {
      if (ended) return;
      ended = true;
      memory.complete();
      resolve({ bytes: whole ?? collected.subarray(0, length), refusal: undefined, memory });
    });
    request.on('error', reject);
    // 'close' also follows 'end'. An unused error would still cost its stack.
    request.on('close', () => {
      if (ended) return;
      ended = true;
      memory.release();
      reject(new Error('the client disconnected'));
    });
  });
}
