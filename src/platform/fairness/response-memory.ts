import { type ApiError, exceeded, tryLater } from '../errors.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { MemoryBudget } from './memory-budget.ts';

/** A client that reads less than this within its time window is disconnected (contract: limits). */
const LEAST_TAKEN_BYTES = 262_144;
const CHECK_INTERVAL_MS = 250;
/** A client that is slower than this is disconnected if others need the memory. */
const SLOW_BYTES_PER_SECOND = 262_144;
const SLOW_AFTER_MS = 250;

/** A socket that has not yet accepted all of a response. */
interface Client {
  remaining(): number;
  cutOff(): void;
  /** Undefined means that other code enforces the pace. */
  readonly windowMs?: number | undefined;
}

interface Look {
  readonly atMs: number;
  readonly remaining: number;
}

const lookAt = (client: Client): Look => ({ atMs: performance.now(), remaining: client.remaining() });

/** The result is infinite if the time is too short to measure. */
function paceSince(before: Look, now: Look): number {
  const elapsedMs = now.atMs - before.atMs;
  if (elapsedMs < SLOW_AFTER_MS) return Number.POSITIVE_INFINITY;
  return ((before.remaining - now.remaining) * 1000) / elapsedMs;
}

/** Disconnects all clients that read too little in a window, and the slowest if memory is short. */
function createSlowClients(onCutOff: () => void) {
  const waiting = new Map<Client, Look>();
  let timer: NodeJS.Timeout | undefined;

  function cutOff(client: Client): void {
    onCutOff();
    client.cutOff();
  }

  function cutOffStalled(): void {
    for (const [client, before] of waiting) {
      const now = lookAt(client);
      if (now.atMs - before.atMs < (client.windowMs ?? Number.POSITIVE_INFINITY)) continue;
      if (before.remaining - now.remaining < LEAST_TAKEN_BYTES) cutOff(client);
      else waiting.set(client, now);
    }
  }

  return {
    /** @returns a function that stops watching the client */
    watch(client: Client): () => void {
      waiting.set(client, lookAt(client));
      timer ??= setInterval(cutOffStalled, CHECK_INTERVAL_MS).unref();
      return () => {
        if (!waiting.delete(client) || waiting.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    cutOffSlowest(isEnough: () => boolean): void {
      const slow = [...waiting]
        .map(([client, look]) => ({ client, pace: paceSince(look, lookAt(client)) }))
        .filter(({ pace }) => pace < SLOW_BYTES_PER_SECOND)
        .sort((a, b) => a.pace - b.pace);
      for (const { client } of slow) {
        if (isEnough()) return;
        cutOff(client);
      }
    },
  };
}

/** The kernel accepts this much immediately, and nearly all responses are smaller. */
export const UNCOUNTED_BYTES = 65_536;

export interface PendingLimits {
  readonly maxBytes: number;
  readonly maxReceivedBytes: number;
}

/** The memory that a response uses, from the first row until the socket has accepted the response. */
export class Reservation {
  readonly #pending: PendingResponses;
  #account = '';
  #bytes = 0;
  #abandoned = false;
  #rejection: ApiError | undefined;

  constructor(pending: PendingResponses) {
    this.#pending = pending;
  }

  get rejection(): ApiError | undefined {
    return this.#rejection;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {ApiError} RATE_LIMITED if the account already uses its quota */
  begin(account: string): void {
    this.countFor(account);
    this.#abandoned = false;
    this.#rejection = undefined;
    const rejection = this.#pending.checkShare(account, 1);
    if (rejection !== undefined) throw rejection;
  }

  /** Sets the account of a response that cannot be rejected. */
  countFor(account: string): void {
    this.release();
    this.#account = account;
  }

  /**
   * Counts the bytes that the database has sent for the operation so far. On 'begin nothing more', the rows
   * that still arrive are read. Rows are discarded only on 'stop', when one operation has received too much.
   */
  receive(received: number): 'go on' | 'begin nothing more' | 'stop' {
    if (received > this.#pending.maxReceivedBytes) {
      this.#rejection = tooMuchRead(received, this.#pending.maxReceivedBytes);
      return 'stop';
    }
    if (this.#rejection !== undefined) return 'begin nothing more';
    if (received <= UNCOUNTED_BYTES || this.#abandoned) return 'go on';
    this.#rejection = this.#pending.grow(this.#account, received - this.#bytes);
    if (this.#rejection !== undefined) return 'begin nothing more';
    this.#bytes = received;
    return 'go on';
  }

  /** Stops counting, because rows that still arrive are not part of the response. */
  abandon(): void {
    this.release();
    this.#abandoned = true;
  }

  /**
   * Replaces the size of the database result by the size of the response.
   * @throws {ApiError} RATE_LIMITED or SERVICE_UNAVAILABLE
   */
  reserve(bytes: number): void {
    const counted = bytes <= UNCOUNTED_BYTES ? 0 : bytes;
    if (counted > this.#bytes && !this.#abandoned) {
      const rejection = this.#pending.grow(this.#account, counted - this.#bytes);
      if (rejection !== undefined) throw rejection;
      this.#bytes = counted;
    } else this.resize(counted);
  }

  /** Counts a response that exists already and cannot be rejected. */
  resize(bytes: number): void {
    if (bytes === this.#bytes || this.#abandoned) return;
    this.#pending.add(this.#account, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.resize(0);
  }

  /** @returns a function that stops watching the client and releases the response */
  waitFor(client: Client): () => void {
    const stopWatching = this.#pending.watch(client);
    return () => {
      stopWatching();
      this.release();
    };
  }
}

function tooMuchRead(value: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'A database result of at least', value, maximum, ' bytes');
}

/**
 * All responses that are being built or that clients have not yet read. Their memory is limited in total and
 * by account (contract: limits).
 */
export class PendingResponses {
  readonly maxReceivedBytes: number;
  readonly #budget: MemoryBudget;
  readonly #clients: ReturnType<typeof createSlowClients>;

  constructor({ maxBytes, maxReceivedBytes }: PendingLimits, metrics: Metrics) {
    this.maxReceivedBytes = maxReceivedBytes;
    const cutOff = metrics.counter(
      'content_graph_responses_aborted_total',
      'Responses aborted because clients read too slowly.',
    );
    const clients = createSlowClients(() => cutOff.inc({}));
    const budget = new MemoryBudget(maxBytes, clients.cutOffSlowest);
    metrics.gauge(
      'content_graph_response_pending_bytes',
      'Bytes of responses being built or not yet accepted by sockets.',
      () => budget.bytes,
    );
    metrics.gauge(
      'content_graph_response_pending_limit_bytes',
      'Limit from MAX_PENDING_RESPONSE_BYTES.',
      () => maxBytes,
    );
    this.#clients = clients;
    this.#budget = budget;
  }

  reservation(): Reservation {
    return new Reservation(this);
  }

  checkShare(account: string, bytes: number): ApiError | undefined {
    const { quotaBytes: shareBytes } = this.#budget;
    if (this.#budget.isWithinQuota(account, bytes)) return undefined;
    return tryLater(
      'RATE_LIMITED',
      `Your account has ${this.#budget.usedBy(account)} bytes of unread responses, and the limit is ${shareBytes} bytes. Read the responses first.`,
    );
  }

  /** @returns the rejection if the bytes do not fit, even after slow clients were disconnected */
  grow(account: string, bytes: number): ApiError | undefined {
    const rejection = this.checkShare(account, bytes);
    if (rejection !== undefined) return rejection;
    if (!this.#budget.freeFor(bytes))
      return tryLater(
        'SERVICE_UNAVAILABLE',
        'The service has too many unread responses of all clients. Try again.',
      );
    this.add(account, bytes);
    return undefined;
  }

  add(account: string, bytes: number): void {
    this.#budget.add(bytes, account);
  }

  /** @returns a function that stops watching the client */
  watch(client: Client): () => void {
    const stopWatching = this.#clients.watch(client);
    this.#budget.freeFor(0);
    return stopWatching;
  }
}
