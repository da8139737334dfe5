import type { IncomingMessage } from 'node:http';
import { type ApiError, tryLater } from '../../platform/errors.ts';
import { readThrottle, type ThrottledSource } from '../../platform/fairness/event-loop.ts';
import { MemoryBudget } from '../../platform/fairness/memory-budget.ts';
import { bodyTooLarge } from '../body.ts';
import type { BodyCharge } from '../exchange.ts';

/**
 * Clients can send bodies before they authenticate, one per connection. If space runs out, the bodies that have been
 * arriving longest are dropped. A body that is sent in one go takes no time to arrive.
 */
export class BodyBudget extends MemoryBudget {
  /** The oldest body comes first. A body that arrives in one chunk is never in the set. */
  readonly arriving: Set<BodyMemory>;

  constructor(maxBytes: number) {
    const arriving = new Set<BodyMemory>();
    super(maxBytes, (hasRoom) => {
      for (const oldest of arriving) {
        if (hasRoom()) return;
        oldest.drop();
      }
    });
    this.arriving = arriving;
  }
}

export class BodyMemory implements BodyCharge {
  readonly #budget: BodyBudget;
  readonly #onDrop: () => void;
  #bytes = 0;
  #owner: string | undefined;
  #isReleased = false;

  constructor(budget: BodyBudget, onDrop: () => void) {
    this.#budget = budget;
    this.#onDrop = onDrop;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns false, and counts nothing, if there is no room. */
  take(bytes: number): boolean {
    if (!this.#budget.freeFor(bytes)) return false;
    this.#add(bytes);
    return true;
  }

  /**
   * Counts more bytes of an arriving body.
   * @returns false if this body itself was dropped to make room
   */
  grow(bytes: number): boolean {
    this.#budget.arriving.add(this);
    this.#add(bytes);
    this.#budget.freeFor(0);
    return !this.#isReleased;
  }

  /** A complete body is not dropped in favour of others. */
  complete(): void {
    this.#budget.arriving.delete(this);
  }

  /**
   * Charges a complete body to the account of its request.
   * @returns false if the response is already made, or if the account's bodies use too much memory
   */
  own(owner: string): boolean {
    if (this.#isReleased) return false;
    if (this.#owner !== undefined) return true;
    if (this.#budget.usedBy(owner) > 0 && !this.#budget.isWithinQuota(owner, this.#bytes)) return false;
    const bytes = this.#bytes;
    this.#add(-bytes);
    this.#owner = owner;
    this.#add(bytes);
    return true;
  }

  drop(): void {
    this.release();
    this.#onDrop();
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.complete();
    this.#add(-this.#bytes);
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.add(bytes, this.#owner);
  }
}

export interface ReceivedBody {
  readonly bytes: Buffer<ArrayBuffer> | undefined;
  /** The rest of a rejected body is not read, so the connection cannot be reused. */
  readonly rejection: ApiError | undefined;
  /** Undefined if nothing is counted. The caller releases the memory when the response is made. */
  readonly memory: BodyMemory | undefined;
}

export interface ReceiveOptions {
  readonly maxBytes: number;
  /** `budget` limits all bodies together. */
  readonly budget: BodyBudget;
}

const FIRST_CAPACITY = 1024;
const LARGE_CHUNK = 16_384;
const NOTHING = Buffer.alloc(0);

const noRoom = () =>
  tryLater('SERVICE_UNAVAILABLE', 'The service is receiving too many large requests. Try again.');

/**
 * A larger Content-Length is rejected before a byte is read. Chunks are copied into one buffer, because a retained
 * chunk of one byte would occupy a hundred. The promise rejects if the client disconnects early.
 */
export function receiveBody(
  request: IncomingMessage,
  { maxBytes, budget }: ReceiveOptions,
): Promise<ReceivedBody> {
  const createRejected = (rejection: ApiError): ReceivedBody => ({
    bytes: undefined,
    rejection,
    memory: undefined,
  });
  const contentLength = Number(request.headers['content-length'] ?? Number.NaN);
  if (contentLength > maxBytes) return Promise.resolve(createRejected(bodyTooLarge(maxBytes)));
  return new Promise((resolve, reject) => {
    const expected = Number.isNaN(contentLength) ? maxBytes : contentLength;
    let whole: Buffer<ArrayBuffer> | undefined;
    let collected = NOTHING;
    let length = 0;
    let ended = false;
    const finishRejected = (rejection: ApiError) => {
      ended = true;
      request.pause();
      resolve(createRejected(rejection));
    };
    let source: ThrottledSource | undefined;
    const sourceOf = (): ThrottledSource => ({
      owner: request.socket.remoteAddress,
      number: readThrottle.nextNumber(),
      // A rejected body stays paused.
      stream: { pause: () => request.pause(), resume: () => !ended && request.resume() },
    });
    const memory = new BodyMemory(budget, () => finishRejected(noRoom()));

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
        finishRejected(bodyTooLarge(maxBytes));
      } else if (chunk.length === contentLength) {
        if (memory.take(contentLength)) whole = chunk;
        else finishRejected(noRoom());
      } else {
        collect(chunk);
        // A complete body is not throttled, because only its end follows.
        if (chunk.length < LARGE_CHUNK || length === contentLength) return;
        source ??= sourceOf();
        readThrottle.take(source, chunk.length);
      }
    });
    request.on('end', () => {
      if (ended) return;
      ended = true;
      memory.complete();
      resolve({ bytes: whole ?? collected.subarray(0, length), rejection: undefined, memory });
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
