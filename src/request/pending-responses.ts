import { ApiError, exceeded } from '../graphql/errors.ts';
import type { Metrics } from '../platform/metrics.ts';
import { type Reader, SlowReaders } from './slow-readers.ts';

/** What an answer may have before it is counted: the kernel takes as much at once, and nearly all answers are smaller. */
export const UNCOUNTED_BYTES = 65_536;
/** One account may have this part of the whole. */
const ACCOUNT_SHARE = 8;

export interface PendingLimits {
  /** What all answers may hold together. */
  readonly maxBytes: number;
  /** What one operation may be sent by the database. */
  readonly maxReceivedBytes: number;
}

/** What one request's answer holds of this process' memory, from the first row until the socket has taken it. */
export class Hold {
  readonly #pending: PendingResponses;
  #account = '';
  #bytes = 0;
  #received = 0;
  #abandoned = false;
  #refusal: ApiError | undefined;

  constructor(pending: PendingResponses) {
    this.#pending = pending;
  }

  /** Why the answer is not to be had: it is too large, or others hold too much. */
  get refusal(): ApiError | undefined {
    return this.#refusal;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Says whose answer it is. Throws RATE_LIMITED where the account holds its part already. */
  begin(account: string): void {
    this.countFor(account);
    this.#received = 0;
    this.#refusal = undefined;
    if (this.#pending.isFull(account)) throw this.#pending.refuseAccount(account);
  }

  /** Says whose answer it is, of one that is not refused. */
  countFor(account: string): void {
    this.release();
    this.#account = account;
  }

  /**
   * Counts what the database has sent. False where nothing more is to be read: `refusal` says why. Only once it is too
   * much for one operation is what comes still to be thrown away.
   */
  receive(bytes: number): 'go on' | 'begin nothing more' | 'stop' {
    this.#received += bytes;
    if (this.#received > this.#pending.maxReceivedBytes) {
      this.#refusal = tooMuchRead(this.#received, this.#pending.maxReceivedBytes);
      return 'stop';
    }
    if (this.#refusal !== undefined) return 'begin nothing more';
    if (this.#received <= UNCOUNTED_BYTES || this.#abandoned) return 'go on';
    this.#refusal = this.#pending.grow(this.#account, this.#received - this.#bytes);
    if (this.#refusal !== undefined) return 'begin nothing more';
    this.#bytes = this.#received;
    return 'go on';
  }

  /** Counts nothing more: what still comes in is not answered with. */
  abandon(): void {
    this.release();
    this.#abandoned = true;
  }

  /** Says how large the answer is, in place of what was read for it. Throws RATE_LIMITED, SERVICE_UNAVAILABLE. */
  reserve(bytes: number): void {
    const counted = bytes <= UNCOUNTED_BYTES ? 0 : bytes;
    if (counted > this.#bytes && !this.#abandoned) {
      const refusal = this.#pending.grow(this.#account, counted - this.#bytes);
      if (refusal !== undefined) throw refusal;
      this.#bytes = counted;
    } else this.resize(counted);
  }

  /** The same for what is there already and cannot be refused. */
  resize(bytes: number): void {
    if (bytes === this.#bytes || this.#abandoned) return;
    this.#pending.add(this.#account, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.resize(0);
  }

  /** Watches the pace of who reads the answer. Returns what ends that and lets go of the answer. */
  waitFor(reader: Reader): () => void {
    const ended = this.#pending.watch(reader);
    return () => {
      ended();
      this.release();
    };
  }
}

function tooMuchRead(value: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'The bytes that the operation reads are at least', value, maximum);
}

/**
 * The answers that are being built or wait for their readers: what all of them hold together and each account's part
 * of it are bounded, and readers that are too slow are cut off (contract section 5).
 */
export class PendingResponses {
  readonly maxReceivedBytes: number;
  readonly #maxBytes: number;
  readonly #accounts = new Map<string, number>();
  readonly #readers: SlowReaders;
  #bytes = 0;

  constructor({ maxBytes, maxReceivedBytes }: PendingLimits, metrics: Metrics) {
    this.maxReceivedBytes = maxReceivedBytes;
    this.#maxBytes = maxBytes;
    metrics.gauge(
      'response_bytes_pending',
      'Bytes of answers that are being built or not yet taken by their sockets.',
      () => this.#bytes,
    );
    const cutOff = metrics.counter(
      'responses_cut_off_total',
      'Answers whose readers were too slow and were cut off.',
    );
    this.#readers = new SlowReaders(() => cutOff.inc({}));
  }

  hold(): Hold {
    return new Hold(this);
  }

  isFull(account: string): boolean {
    return this.#bytes > 0 && (this.#accounts.get(account) ?? 0) >= this.#maxBytes / ACCOUNT_SHARE;
  }

  refuseAccount(account: string): ApiError {
    const value = this.#accounts.get(account) ?? 0;
    const maximum = this.#maxBytes / ACCOUNT_SHARE;
    return new ApiError(
      'RATE_LIMITED',
      `The answers to this account that are not read yet hold ${value} bytes of the ${maximum} that they may: read them first.`,
      { headers: { 'retry-after': '1' } },
    );
  }

  /** Counts more bytes for an account. Returns what refuses them; slow readers are cut off before all are refused. */
  grow(account: string, bytes: number): ApiError | undefined {
    const held = this.#accounts.get(account) ?? 0;
    if (held + bytes > this.#maxBytes / ACCOUNT_SHARE) return this.refuseAccount(account);
    if (!this.#makeRoom(bytes))
      return new ApiError('SERVICE_UNAVAILABLE', 'Too many answers wait to be read. Try again.', {
        headers: { 'retry-after': '1' },
      });
    this.add(account, bytes);
    return undefined;
  }

  add(account: string, bytes: number): void {
    this.#bytes += bytes;
    const held = (this.#accounts.get(account) ?? 0) + bytes;
    if (held === 0) this.#accounts.delete(account);
    else this.#accounts.set(account, held);
  }

  /** Cuts off slow readers until there is room for so many bytes. False where they don't hold as many. */
  #makeRoom(bytes: number): boolean {
    const hasRoom = () => this.#bytes + bytes <= this.#maxBytes;
    if (hasRoom()) return true;
    this.#readers.cutOffSlowest(hasRoom);
    return hasRoom();
  }

  /** Watches who reads an answer. Returns what ends that. */
  watch(reader: Reader): () => void {
    const ended = this.#readers.watch(reader);
    this.#makeRoom(0);
    return ended;
  }
}
