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
 * Asks the server to cancel the statement that a connection runs. The request uses a separate connection,
 * because the statements to cancel may occupy the whole pool. Like libpq, this function waits until the
 * server has closed the connection, because PgBouncer drops the request if the client disconnects first.
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
  /**
   * Receives the total bytes of the work. `begin nothing more` lets the running statement finish, and `stop`
   * closes the connection.
   */
  receive(bytes: number): 'go on' | 'begin nothing more' | 'stop';
}

export interface CancellableWork {
  /** Sum of the time of all statements. */
  databaseMs: number;
  /** The span of the work, or undefined if the work is not traced. */
  readonly span?: Span | undefined;
}

/**
 * Signals that work is no longer wanted. An AbortController would cost more, and every operation needs a
 * signal.
 */
export class Cancellation {
  /** A single listener is by far the most common case and needs no Set. */
  #listeners: (() => void) | Set<() => void> | undefined;
  #cancelled = false;
  #closed = false;
  /**
   * True while a statement that commits by itself is running. The work may still take effect, so only the
   * outcome of the statement counts.
   */
  undecided = false;
  #received = 0;
  readonly #meter: ReceivedMeter | undefined;
  /** An account or, without credentials, an IP address. The fair queue charges the owner for the work. */
  readonly owner: string | undefined;
  readonly #work: CancellableWork | undefined;

  constructor(meter?: ReceivedMeter, owner?: string, work?: CancellableWork) {
    this.#meter = meter;
    this.owner = owner;
    this.#work = work;
  }

  spend(ms: number): void {
    if (this.#work !== undefined) this.#work.databaseMs += ms;
  }

  get span(): Span | undefined {
    return this.#work?.span;
  }

  /**
   * Counts bytes that the database has sent for the work.
   * @returns false if the bytes exceed the bound, so that the rest must be discarded. Never false once the
   * work has committed or may have committed.
   */
  receive(bytes: number): boolean {
    this.#received += bytes;
    if (this.#meter === undefined || this.#closed || this.undecided) return true;
    const verdict = this.#meter.receive(this.#received);
    // The running statement continues, because its data is already counted, and a cancel request takes
    // another connection.
    if (verdict !== 'go on') this.#cancelled = true;
    return verdict !== 'stop';
  }

  get received(): number {
    return this.#received;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /**
   * Cancels the work.
   * @returns false if the work has been closed or cancelled before.
   */
  cancel(): boolean {
    if (this.#cancelled || this.#closed) return false;
    this.#cancelled = true;
    const listeners = this.#listeners;
    this.#listeners = undefined;
    if (typeof listeners === 'function') listeners();
    else for (const listener of listeners ?? []) listener();
    return true;
  }

  /**
   * Rules out cancellation from now on.
   * @returns false if the work was cancelled before.
   */
  close(): boolean {
    this.#closed = true;
    return !this.#cancelled;
  }

  /**
   * Calls `listener` when the work is cancelled.
   * @returns a function that removes the listener.
   */
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
