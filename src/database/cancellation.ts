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
 * The request uses a separate connection, because the statements to cancel may occupy the whole pool. Like
 * libpq, the function waits until the server has closed the connection. PgBouncer drops the request if the
 * client disconnects first.
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

export interface ReceivedMeter {
  /**
   * Receives the total bytes of the work. `begin nothing more` lets the running statement finish, and `stop`
   * closes the connection.
   */
  receive(bytes: number): 'go on' | 'begin nothing more' | 'stop';
}

export interface CancellableWork {
  databaseMs: number;
  readonly span?: Span | undefined;
}

/** Lighter than an AbortController, because every operation needs a Cancellation. */
export class Cancellation {
  #listeners: (() => void)[] = [];
  #cancelled = false;
  #closed = false;
  /**
   * True while a statement that commits by itself is running, whose outcome then counts instead of a
   * cancellation.
   */
  undecided = false;
  #received = 0;
  readonly #meter: ReceivedMeter | undefined;
  /** An account or, without credentials, an IP address, which the fair queue charges for the work. */
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
   * @returns false if the bytes exceed the bound, so that the rest must be discarded. Never false once the
   * work may have committed.
   */
  receive(bytes: number): boolean {
    this.#received += bytes;
    if (this.#meter === undefined || this.#closed || this.undecided) return true;
    const verdict = this.#meter.receive(this.#received);
    // The running statement continues, because its data is counted, and a cancel request takes another
    // connection.
    if (verdict !== 'go on') this.#cancelled = true;
    return verdict !== 'stop';
  }

  get received(): number {
    return this.#received;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** @returns false if the work has been closed or cancelled before. */
  cancel(): boolean {
    if (this.#cancelled || this.#closed) return false;
    this.#cancelled = true;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
    return true;
  }

  /** @returns false if the work was cancelled before. */
  close(): boolean {
    this.#closed = true;
    return !this.#cancelled;
  }

  /** @returns a function that removes the listener. */
  onCancel(listener: () => void): () => void {
    this.#listeners.push(listener);
    return () => {
      const at = this.#listeners.indexOf(listener);
      if (at >= 0) this.#listeners.splice(at, 1);
    };
  }
}
