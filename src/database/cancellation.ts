import { connect } from 'node:net';
import type { ClientBase } from 'pg';
import type { Span } from '../platform/tracing/tracing.ts';

/** PostgreSQL protocol, "CancelRequest": length, code, backend process id, secret key. */
const LENGTH = 16;
const CODE = 80_877_102;
const TIMEOUT_MS = 5_000;

interface BackendKey {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
  readonly host?: string;
  readonly port?: number;
}

/**
 * Asks the server to cancel the statement that a connection runs. Uses a separate connection, because the
 * pool may be exhausted by exactly these statements. Like libpq, waits until the server has handled the
 * request and closed the connection: PgBouncer drops the request if the client disconnects first.
 */
export async function cancelStatement(client: ClientBase): Promise<void> {
  const { processID, secretKey, host = 'localhost', port = 5432 } = client as unknown as BackendKey;
  if (processID == null || secretKey == null) return;
  const message = Buffer.alloc(LENGTH);
  message.writeInt32BE(LENGTH, 0);
  message.writeInt32BE(CODE, 4);
  message.writeInt32BE(processID, 8);
  message.writeInt32BE(secretKey, 12);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => socket.destroy());
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.resume().write(message);
  await closed;
}

/** Counts the bytes that the database sends for some work, and decides whether the work may continue. */
export interface ReceivedMeter {
  /** Takes the bytes of the work so far. `begin nothing more` lets the running statement finish; `stop` ends it at once. */
  receive(bytes: number): 'go on' | 'begin nothing more' | 'stop';
}

/** The work that statements are for. */
export interface CancellableWork {
  /** Where the time of the statements is added up. */
  databaseMs: number;
  /** The step of a trace that it is; undefined if it is not traced. */
  readonly span?: Span | undefined;
}

/** Signals that work is no longer wanted. Lighter than an AbortController: every operation needs one. */
export class Cancellation {
  /** A single listener is by far the most common case, so it needs no Set. */
  #listeners: (() => void) | Set<() => void> | undefined;
  #cancelled = false;
  #closed = false;
  /**
   * Whether cancelled work may still take effect, so that only the statement's own outcome counts. True while
   * a statement that commits by itself is running.
   */
  undecided = false;
  #received = 0;
  readonly #meter: ReceivedMeter | undefined;
  /** Who is charged for the work when slots are given: an account or, without credentials, an IP address. */
  readonly owner: string | undefined;
  readonly #work: CancellableWork | undefined;

  constructor(meter?: ReceivedMeter, owner?: string, work?: CancellableWork) {
    this.#meter = meter;
    this.owner = owner;
    this.#work = work;
  }

  /** Counts the time that a statement of the work took. */
  spend(ms: number): void {
    if (this.#work !== undefined) this.#work.databaseMs += ms;
  }

  get span(): Span | undefined {
    return this.#work?.span;
  }

  /**
   * Counts bytes that the database has sent for the work. Returns false if they exceed the bound and the rest
   * must be discarded. Never false once the work has committed or may have.
   */
  receive(bytes: number): boolean {
    this.#received += bytes;
    if (this.#meter === undefined || this.#closed || this.undecided) return true;
    const verdict = this.#meter.receive(this.#received);
    // The running statement is not cancelled: its data is already counted, and cancelling takes another
    // connection.
    if (verdict !== 'go on') this.#cancelled = true;
    return verdict !== 'stop';
  }

  /** The number of bytes that the database has sent for the work. */
  get received(): number {
    return this.#received;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** Cancels the work. Returns false if it is too late, or if the work was cancelled before. */
  cancel(): boolean {
    if (this.#cancelled || this.#closed) return false;
    this.#cancelled = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (typeof listeners === 'function') listeners();
    else for (const listener of listeners ?? []) listener();
    return true;
  }

  /** Rules out cancellation from now on. Returns false if the work was cancelled before. */
  close(): boolean {
    this.#closed = true;
    return !this.#cancelled;
  }

  /** Calls `listener` when the work is cancelled. Returns a function that removes it. */
  onCancel(listener: () => void): () => void {
    if (this.#listeners === undefined) this.#listeners = listener;
    else if (typeof this.#listeners === 'function') this.#listeners = new Set([this.#listeners, listener]);
    else this.#listeners.add(listener);
    return () => {
      if (this.#listeners === listener) this.#listeners = undefined;
      else if (typeof this.#listeners === 'object') this.#listeners.delete(listener);
    };
  }
}
