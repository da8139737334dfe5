import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';
import { COMMAND, HOLD_LIMITS, type HoldMark, type Standing } from './held-time.ts';
import {
  code,
  copyFail,
  READY_BYTES,
  type Report,
  readyStatus,
  reportMessage,
  SYNC,
  startupParameters,
} from './protocol.ts';
import { type Session, SessionSwitch } from './session-switch.ts';

type Send = (data: Uint8Array) => void;

interface Connection {
  readonly id: number;
  readonly standing: Standing;
  /** Its application_name. */
  readonly application: string;
  readonly session: Session;
  /** Messages of an extended query that wait for what ends their batch. */
  held: Uint8Array[];
  send: Send;
  gone: boolean;
}

interface Entry {
  readonly connection: Connection;
  readonly message: Uint8Array;
  /** What it consists of. */
  readonly parts: readonly Uint8Array[];
  readonly send: Send;
  resolve(bytes: number): void;
  reject(error: unknown): void;
}

/** What the worker does for the connections. */
export interface BackendServices {
  readonly db: PGlite;
  readonly mark: HoldMark;
  /** The application_name of the service's own connections, which nobody else knows. */
  readonly own: string;
  readonly channels: readonly string[];
  /** Gets each part of a response. */
  readonly heard: (data: Uint8Array) => void;
  /** Closes a connection. */
  disconnect(id: number): void;
  /** For the log of the service. */
  tell(message: string, fields: Readonly<Record<string, unknown>>): void;
  /** Called with how many outside connections there are. */
  guests(count: number): void;
  /** The backend can no longer be used. */
  broken(error: unknown): void;
}

const MAX_GUESTS = 16;

/** Parse, Bind, Describe, Execute and Close: held until the Sync or Flush that ends their batch. */
const HELD = new Set([...'PBDEC'].map(code));
/** What ends a connection, and the data of a COPY FROM STDIN, which has failed already. */
const IGNORED = new Set([...'Xdcf'].map(code));
const [QUERY, SYNC_TYPE, FLUSH] = [...'QSH'].map(code);
/** The backend cannot wait for data in the middle of a statement: it would end. */
const NO_COPY = copyFail(
  'the embedded database takes no COPY FROM STDIN: use INSERT, or "admin restore" for a backup',
);
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
  readonly #leaving: Connection[] = [];
  #working = false;

  constructor(services: BackendServices) {
    this.#services = services;
    this.#sessions = new SessionSwitch({
      db: services.db,
      channels: services.channels,
      run: async (message) => void (await this.#run(message, () => undefined)),
      healed: (what) =>
        services.tell('the session of the embedded database was found changed; it was restored', { what }),
    });
  }

  /** Resolves with the number of bytes in the answer. Rejects if the connection is refused or closed. */
  async enqueue(id: number, message: Uint8Array, send: Send): Promise<number> {
    const connection = this.#connections.get(id) ?? this.#admit(id, message, send);
    const type = message[0] ?? 0;
    if (IGNORED.has(type)) return 0;
    const { held } = connection;
    held.push(message);
    if (HELD.has(type)) return 0;
    connection.held = [];
    connection.send = send;
    if (connection.standing !== 'service') {
      if (type === QUERY) held.push(NO_COPY);
      if (type === SYNC_TYPE) held.splice(-1, 0, NO_COPY);
    }
    const whole = held.length === 1 ? message : Buffer.concat(held);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ connection, message: whole, parts: held, send, resolve, reject });
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
    this.#leaving.push(connection);
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
    const application = startupParameters(message)?.get('application_name') ?? '';
    const isOwn = application === this.#services.own;
    const standing = isOwn ? 'service' : application === COMMAND ? 'command' : 'guest';
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
        else if (holder === undefined && this.#leaving.length > 0) await this.#dismiss();
        else {
          const entry = this.#next(holder);
          if (entry === undefined) break;
          await this.#serve(entry);
        }
      }
    } catch (error) {
      this.#services.broken(error);
    } finally {
      this.#working = false;
    }
  }

  #next(holder: Connection | undefined): Entry | undefined {
    if (holder === undefined) return this.#waiting.shift();
    const at = this.#waiting.findIndex(({ connection }) => connection === holder);
    return at === -1 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  /** Throws if the backend has not become ready for the next query: it has ended. */
  async #run(message: Uint8Array, send: Send, ready = true): Promise<{ bytes: number; status: string }> {
    let bytes = 0;
    let end: Uint8Array = new Uint8Array();
    const { heard } = this.#services;
    await this.#services.db.execProtocolRawStream(message, {
      onRawData(data) {
        bytes += data.length;
        // A copy: the part is a view of memory that changes.
        end = data.length < READY_BYTES ? Buffer.concat([end, data]) : data.slice(-READY_BYTES);
        heard(data);
        send(data);
      },
    });
    const status = readyStatus(end);
    if (ready && status === undefined) throw new Error('the backend has ended');
    return { bytes, status: status ?? 'T' };
  }

  async #serve(entry: Entry): Promise<void> {
    const { connection, message, parts, send, resolve, reject } = entry;
    const { mark } = this.#services;
    clearTimeout(this.#timer);
    try {
      if (this.#holder === undefined) await this.#sessions.enter(connection.session);
    } catch (error) {
      if (connection.standing === 'service') throw error;
      // A setting that it has made cannot be made again.
      reject(error);
      this.#end(connection, 'its settings cannot be set again');
      return;
    }
    if (this.#holder === undefined) mark.begin(connection.standing);
    try {
      const { bytes, status } = await this.#run(message, send, message[0] !== FLUSH);
      if (connection.standing === 'service')
        for (const part of parts) this.#sessions.remember(connection.id, part);
      if (connection.application === 'pg_dump' && startupParameters(message) !== undefined)
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

  /** It has the backend until its next message: an outside connection for so long. */
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
    await this.#run(SYNC, () => undefined);
    await this.#services.db.exec('ROLLBACK');
    this.#release();
  }

  async #dismiss(): Promise<void> {
    const connection = this.#leaving.shift();
    if (connection === undefined) return;
    await this.#sessions.leave(connection.session, connection.id);
    this.#connections.delete(connection.id);
    if (connection.standing !== 'service') this.#tellGuests();
  }
}
