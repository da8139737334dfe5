import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Backend, Send } from './backend.ts';
import { applicationOf, type Connection, completed, standingOf } from './connection.ts';
import { HOLD_LIMITS, type HoldMark } from './held-time.ts';
import { code, type Report, reportMessage, SYNC, startupParameters } from './protocol.ts';
import { SessionSwitch } from './session-switch.ts';

interface Entry {
  readonly connection: Connection;
  readonly parts: readonly Uint8Array[];
  readonly send: Send;
  resolve(bytes: number): void;
  reject(error: unknown): void;
}

/** What the worker does for the connections. */
export interface BackendServices {
  readonly backend: Backend;
  readonly mark: HoldMark;
  /** The application_name of the service's own connections, which nobody else knows. */
  readonly own: string;
  readonly channels: readonly string[];
  /** Closes a connection. */
  disconnect(id: number): void;
  /** For the log of the service. */
  tell(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** Called where notifications on the channels may have been missed. */
  missed(): void;
  /** Called with how many outside connections there are. */
  guests(count: number): void;
  /** The backend can no longer be used. */
  broken(error: unknown): void;
}

const MAX_GUESTS = 16;
const NOTHING = new Uint8Array();
const FLUSH = code('H');
const BACKUP_START = 'pg_backup_start';
const DUMP: Report = {
  severity: 'NOTICE',
  state: '00000',
  text: 'the embedded database gives pg_dump 5 s, and it must be of the same major version; "npm run -s admin -- backup FILE" works beside a running server, and "admin export-to" moves the data to a PostgreSQL server',
};

/**
 * PGlite is one backend with one session, behind all connections. This gives it to one connection at a time, for a
 * statement, an extended query up to its Sync (PostgreSQL protocol, "Extended Query") or a transaction, and to outside
 * connections within limits (decision 36). It is the message queue of the socket server.
 */
export class SharedBackend {
  readonly #services: BackendServices;
  readonly #sessions: SessionSwitch;
  readonly #connections = new Map<number, Connection>();
  /** Who is in a transaction or in an unfinished extended query, and since when. */
  #holder: { readonly connection: Connection; readonly sinceMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waiting: Entry[] = [];
  /** What is to be done when nobody has the backend. */
  readonly #jobs: (() => Promise<void>)[] = [];
  /** Who has begun a backup, or tried while another's was running. */
  readonly #backups = new Set<Connection>();
  #working = false;

  constructor(services: BackendServices) {
    this.#services = services;
    this.#sessions = new SessionSwitch({
      backend: services.backend,
      channels: services.channels,
      missed: services.missed,
      healed: (what) =>
        services.tell('the session of the embedded database was found changed; it was restored', { what }),
    });
  }

  /** Resolves with the number of bytes in the answer. Rejects if the connection is refused or closed. */
  async enqueue(id: number, message: Uint8Array, send: Send): Promise<number> {
    const connection = this.#connections.get(id) ?? this.#admit(id, message, send);
    connection.send = send;
    const parts = completed(connection, message);
    if (parts === undefined) return 0;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ connection, parts, send, resolve, reject });
      void this.#work();
    });
  }

  getQueueLength(): number {
    return this.#waiting.length;
  }

  /** Drops what a closed connection has waiting. */
  clearQueueForHandler(id: number): void {
    const isDropped = ({ connection }: Entry) => connection.id === id;
    const dropped = this.#waiting.filter(isDropped);
    this.#waiting = this.#waiting.filter((entry) => !isDropped(entry));
    for (const { reject } of dropped) reject(new Error('the connection was closed'));
  }

  /** Ends the transaction and the session of a closed connection. */
  async clearTransactionIfNeeded(id: number): Promise<void> {
    const connection = this.#connections.get(id);
    if (connection === undefined || connection.gone) return;
    connection.gone = true;
    this.#jobs.push(() => this.#dismiss(connection));
    void this.#work();
  }

  /** Resolves once nothing runs any more. */
  async settled(): Promise<void> {
    while (this.#working) await nextTurn();
  }

  #tellGuests(): number {
    const count = [...this.#connections.values()].filter(({ standing }) => standing !== 'service').length;
    this.#services.guests(count);
    return count;
  }

  #admit(id: number, message: Uint8Array, send: Send): Connection {
    const application = applicationOf(message);
    const standing = standingOf(application, this.#services.own);
    const isOwn = standing === 'service';
    const session = isOwn ? this.#sessions.service : this.#sessions.newSession();
    const connection: Connection = { id, standing, application, session, held: [], send, gone: false };
    this.#connections.set(id, connection);
    if (!isOwn && this.#tellGuests() > MAX_GUESTS && standing === 'guest') {
      send(
        reportMessage({
          severity: 'FATAL',
          state: '53300',
          text: 'the embedded database has too many outside connections',
        }),
      );
      throw new Error('too many outside connections');
    }
    return connection;
  }

  /** One at a time, until there is nothing to do, or nothing that the holder of the backend has asked for. */
  async #work(): Promise<void> {
    if (this.#working) return;
    this.#working = true;
    try {
      for (;;) {
        const holder = this.#holder?.connection;
        if (holder?.gone === true) await this.#rollBack();
        else if (holder === undefined && this.#jobs.length > 0) await this.#jobs.shift()?.();
        else {
          const entry = this.#next(holder);
          if (entry === undefined) break;
          await this.#serve(entry);
        }
      }
      this.#working = false;
    } catch (error) {
      // No further statement begins. The mark still names who had the backend.
      this.#services.broken(error);
    }
  }

  #next(holder: Connection | undefined): Entry | undefined {
    if (holder === undefined) return this.#waiting.shift();
    const at = this.#waiting.findIndex(({ connection }) => connection === holder);
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  async #serve(entry: Entry): Promise<void> {
    const { connection, parts, send, resolve, reject } = entry;
    const [first = NOTHING] = parts;
    const message = parts.length === 1 ? first : Buffer.concat(parts);
    const { mark } = this.#services;
    clearTimeout(this.#timer);
    try {
      if (this.#holder === undefined) await this.#sessions.enter(connection.session);
    } catch (error) {
      if (connection.standing === 'service') throw error;
      // One of its settings cannot be restored.
      reject(error);
      this.#end(connection, 'its settings cannot be set again');
      return;
    }
    if (this.#holder === undefined) mark.begin(connection.standing);
    if (connection.standing !== 'service' && Buffer.from(message).includes(BACKUP_START))
      this.#backups.add(connection);
    try {
      const ready = parts.at(-1)?.[0] !== FLUSH;
      const { bytes, status } = await this.#services.backend.run(message, send, { ready });
      if (connection.standing === 'service')
        for (const part of parts) this.#sessions.remember(connection.id, part);
      if (connection.application === 'pg_dump' && startupParameters(first) !== undefined)
        send(reportMessage(DUMP));
      if (status === 'I') this.#release();
      else this.#hold(connection);
      resolve(bytes);
    } catch (error) {
      reject(error);
      throw error;
    }
  }

  #release(): void {
    this.#holder = undefined;
    this.#services.mark.end();
  }

  /** The connection keeps the backend until its next message; an outside connection only within its limits. */
  #hold(connection: Connection): void {
    const { standing } = connection;
    this.#holder ??= { connection, sinceMs: performance.now() };
    if (standing === 'service') return;
    const { totalMs, idleMs } = HOLD_LIMITS[standing];
    const leftMs = this.#holder.sinceMs + totalMs - performance.now();
    const reason =
      leftMs < idleMs
        ? `its transaction took more than ${totalMs / 1_000} s`
        : `its transaction was idle for ${idleMs / 1_000} s`;
    this.#timer = setTimeout(() => this.#end(connection, reason), Math.max(0, Math.min(leftMs, idleMs)));
  }

  /** Ends an outside connection that may not go on. */
  #end(connection: Connection, reason: string): void {
    if (connection.gone) return;
    const text = `the embedded database ended the connection: ${reason}`;
    connection.send(reportMessage({ severity: 'FATAL', state: '25P03', text }));
    this.#services.tell('an outside connection to the embedded database was ended', {
      application: connection.application,
      reason,
    });
    this.#services.disconnect(connection.id);
  }

  /** Sync first: it ends an unfinished extended query, which alone may have begun a transaction. */
  async #rollBack(): Promise<void> {
    clearTimeout(this.#timer);
    const { backend } = this.#services;
    await backend.run(SYNC);
    await backend.db.exec('ROLLBACK');
    this.#release();
  }

  async #dismiss(connection: Connection): Promise<void> {
    await this.#sessions.leave(connection.session, connection.id);
    // There is one at a time. Whose it is cannot be seen, so the last to go ends it.
    if (this.#backups.delete(connection) && this.#backups.size === 0)
      await this.#services.backend.endBackup();
    this.#connections.delete(connection.id);
    if (connection.standing !== 'service') this.#tellGuests();
  }

  /**
   * Writes a checkpoint if the write-ahead log has grown long: PGlite never does so by itself, and it would grow until
   * the service is stopped. Not during a backup, which needs the log.
   */
  async checkpoint(): Promise<void> {
    this.#jobs.push(async () => {
      if (this.#backups.size > 0) return;
      await this.#sessions.enter(this.#sessions.service);
      await this.#services.backend.checkpoint();
    });
    await this.#work();
  }
}
