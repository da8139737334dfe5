import { ApiError, exceeded } from '../errors.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { MemoryBudget } from './memory-budget.ts';

/**
 * A client that takes less than this of a waiting response within its time is cut off (contract section 5).
 */
const LEAST_TAKEN_BYTES = 262_144;
const CHECK_INTERVAL_MS = 250;
/** A client slower than this, for at least SLOW_AFTER_MS, is cut off if others need the room. */
const SLOW_BYTES_PER_SECOND = 262_144;
const SLOW_AFTER_MS = 250;

/** A socket that has not taken all of a response yet. */
interface Client {
  /** Bytes still to be taken. */
  remaining(): number;
  /** Ends it at once and frees what it held. */
  cutOff(): void;
  /** Time in which it must take its part, again and again; undefined if its pace is enforced elsewhere. */
  readonly windowMs?: number | undefined;
}

/** When a client was last looked at, and how much it had to take then. */
interface Look {
  readonly atMs: number;
  readonly remaining: number;
}

const lookAt = (client: Client): Look => ({ atMs: performance.now(), remaining: client.remaining() });

/** The bytes per second that a client has taken since a look; infinite if the look is too recent to tell. */
function paceSince(before: Look, now: Look): number {
  const elapsedMs = now.atMs - before.atMs;
  if (elapsedMs < SLOW_AFTER_MS) return Number.POSITIVE_INFINITY;
  return ((before.remaining - now.remaining) * 1000) / elapsedMs;
}

/**
 * Cuts off clients that take too little of what waits for them: all that miss their time, and the slowest if
 * room is needed.
 */
function createSlowClients(onCutOff: () => void) {
  const waiting = new Map<Client, Look>();
  let timer: NodeJS.Timeout | undefined;

  function cutOff(client: Client): void {
    onCutOff();
    client.cutOff();
  }

  /** A client that has taken enough in its time has the same time again. */
  function cutOffStalled(): void {
    for (const [client, before] of waiting) {
      const now = lookAt(client);
      if (now.atMs - before.atMs < (client.windowMs ?? Number.POSITIVE_INFINITY)) continue;
      if (before.remaining - now.remaining < LEAST_TAKEN_BYTES) cutOff(client);
      else waiting.set(client, now);
    }
  }

  return {
    /** Watches a client. Returns a function that stops watching. */
    watch(client: Client): () => void {
      waiting.set(client, lookAt(client));
      timer ??= setInterval(cutOffStalled, CHECK_INTERVAL_MS).unref();
      return () => {
        if (!waiting.delete(client) || waiting.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
    /** Cuts off slow clients, the slowest first, until `isEnough`. */
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

/**
 * A response up to this size is not counted: the kernel takes as much at once, and nearly all are smaller.
 */
export const UNCOUNTED_BYTES = 65_536;

export interface PendingLimits {
  /** Limit for all responses together. */
  readonly maxBytes: number;
  /** Limit for what the database may send for one operation. */
  readonly maxReceivedBytes: number;
}

/** The memory that a request's response holds, from the first row until the socket has taken it. */
export class Reservation {
  readonly #pending: PendingResponses;
  #account = '';
  #bytes = 0;
  #abandoned = false;
  #rejection: ApiError | undefined;

  constructor(pending: PendingResponses) {
    this.#pending = pending;
  }

  /** Why there is no response: it is too large, or others hold too much. */
  get rejection(): ApiError | undefined {
    return this.#rejection;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the account of the response. Throws RATE_LIMITED if the account already holds its share. */
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
   * Counts what the database has sent for the operation so far. `rejection` says why not to go on. Rows that still arrive are discarded
   * only on 'stop', when one operation has received too much.
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

  /** Stops counting: what still arrives is not part of the response. */
  abandon(): void {
    this.release();
    this.#abandoned = true;
  }

  /**
   * Counts the size of the response in place of what was read for it. Throws RATE_LIMITED,
   * SERVICE_UNAVAILABLE.
   */
  reserve(bytes: number): void {
    const counted = bytes <= UNCOUNTED_BYTES ? 0 : bytes;
    if (counted > this.#bytes && !this.#abandoned) {
      const rejection = this.#pending.grow(this.#account, counted - this.#bytes);
      if (rejection !== undefined) throw rejection;
      this.#bytes = counted;
    } else this.resize(counted);
  }

  /** The same for a response that exists already and cannot be rejected. */
  resize(bytes: number): void {
    if (bytes === this.#bytes || this.#abandoned) return;
    this.#pending.add(this.#account, bytes - this.#bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.resize(0);
  }

  /** Watches the pace of a client. Returns a function that stops watching and releases the response. */
  waitFor(client: Client): () => void {
    const ended = this.#pending.watch(client);
    return () => {
      ended();
      this.release();
    };
  }
}

function tooMuchRead(value: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'A database result of at least', value, maximum, ' bytes');
}

/**
 * Responses that are being built or wait for their clients. What they hold is bounded, in total and per
 * account, and clients that are too slow are cut off (contract section 5).
 */
export class PendingResponses {
  readonly maxReceivedBytes: number;
  readonly #budget: MemoryBudget;
  readonly #clients: ReturnType<typeof createSlowClients>;

  constructor({ maxBytes, maxReceivedBytes }: PendingLimits, metrics: Metrics) {
    this.maxReceivedBytes = maxReceivedBytes;
    const cutOff = metrics.counter(
      'content_graph_responses_aborted_total',
      'Responses aborted because clients read them too slowly.',
    );
    const clients = createSlowClients(() => cutOff.inc({}));
    const budget = new MemoryBudget(maxBytes, clients.cutOffSlowest);
    metrics.gauge(
      'content_graph_response_pending_bytes',
      'Bytes of responses that are being built or that sockets have not yet accepted.',
      () => budget.bytes,
    );
    metrics.gauge(
      'content_graph_response_pending_limit_bytes',
      'Limit of content_graph_response_pending_bytes, from MAX_PENDING_RESPONSE_BYTES.',
      () => maxBytes,
    );
    this.#clients = clients;
    this.#budget = budget;
  }

  reservation(): Reservation {
    return new Reservation(this);
  }

  /** Returns the rejection if the account may not hold these bytes as well. */
  checkShare(account: string, bytes: number): ApiError | undefined {
    const { quotaBytes: shareBytes } = this.#budget;
    if (this.#budget.isWithinQuota(account, bytes)) return undefined;
    return new ApiError(
      'RATE_LIMITED',
      `Your account has ${this.#budget.usedBy(account)} bytes of unread responses, and the limit is ${shareBytes} bytes. Read the responses first.`,
      { headers: { 'retry-after': '1' } },
    );
  }

  /**
   * Counts more bytes for an account. Returns the rejection if they do not fit, even after slow clients were
   * cut off.
   */
  grow(account: string, bytes: number): ApiError | undefined {
    const rejection = this.checkShare(account, bytes);
    if (rejection !== undefined) return rejection;
    if (!this.#budget.freeFor(bytes))
      return new ApiError(
        'SERVICE_UNAVAILABLE',
        'The service has too many unread responses of all clients. Try again.',
        {
          headers: { 'retry-after': '1' },
        },
      );
    this.add(account, bytes);
    return undefined;
  }

  add(account: string, bytes: number): void {
    this.#budget.add(bytes, account);
  }

  /** Watches the client of a response. Returns a function that stops watching. */
  watch(client: Client): () => void {
    const ended = this.#clients.watch(client);
    this.#budget.freeFor(0);
    return ended;
  }
}
