import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../graphql/errors.ts';
import { bodyTooLarge } from '../request/json-body.ts';
import type { BodyBudget } from './body-budget.ts';

export interface ReceivedBody {
  readonly bytes: Buffer<ArrayBuffer> | undefined;
  /** The body was not taken: the rest of it is not read, and the connection cannot be used again. */
  readonly refusal: ApiError | undefined;
  /** What the body counts for in the budget, for whoever is done with it to release. */
  readonly heldBytes: number;
}

export interface ReceiveOptions {
  /** The limit of this body. */
  readonly maxBytes: number;
  /** The limit of all bodies together. */
  readonly budget: BodyBudget;
}

const FIRST_CAPACITY = 1024;
const NOTHING = Buffer.alloc(0);

function noRoom(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', 'The service is taking in too much at once. Try again.', {
    headers: { 'retry-after': '1' },
  });
}

/**
 * Collects the body of a request up to a limit. A length announced beyond it is refused before a byte is read. What
 * comes in pieces is copied together as it comes: a piece may be one byte, and each would hold a hundred.
 * Rejects where the client goes away before the end.
 */
export function receiveBody(
  request: IncomingMessage,
  { maxBytes, budget }: ReceiveOptions,
): Promise<ReceivedBody> {
  const refused = (refusal: ApiError): ReceivedBody => ({ bytes: undefined, refusal, heldBytes: 0 });
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
    const arriving = { giveUp: () => refuse(noRoom()) };
    const giveBack = () => budget.release(budget.arrived(arriving));

    function collect(chunk: Buffer<ArrayBuffer>): void {
      const needed = length + chunk.length;
      if (needed > collected.length) {
        const wanted = Math.max(2 * collected.length, FIRST_CAPACITY);
        const capacity = Math.max(needed, Math.min(wanted, expected));
        budget.grow(arriving, capacity - collected.length);
        if (ended) return;
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
        giveBack();
        refuse(bodyTooLarge(maxBytes));
      } else if (chunk.length === announced) {
        if (budget.take(announced)) whole = chunk;
        else refuse(noRoom());
      } else collect(chunk);
    });
    request.on('end', () => {
      if (ended) return;
      ended = true;
      if (whole !== undefined) resolve({ bytes: whole, refusal: undefined, heldBytes: whole.length });
      else
        resolve({
          bytes: collected.subarray(0, length),
          refusal: undefined,
          heldBytes: budget.arrived(arriving),
        });
    });
    request.on('error', reject);
    // It closes after its end as well, and an error that nobody sees costs its stack.
    request.on('close', () => {
      if (ended) return;
      ended = true;
      giveBack();
      if (whole !== undefined) budget.release(whole.length);
      reject(new Error('the client went away'));
    });
  });
}
