import type { MessagePort } from 'node:worker_threads';
import type { PGlite } from '@electric-sql/pglite';

/** Each message on the port has one or more whole messages of the PostgreSQL protocol. */
interface EmbeddedConnection {
  readonly port: MessagePort;
  closed: boolean;
}

interface Entry {
  readonly connection: EmbeddedConnection;
  readonly message: Uint8Array;
}

const MAX_LOG_BYTES = 67_108_864;
const CHECKPOINT_DUE = `SELECT FROM pg_catalog.pg_control_checkpoint()
  WHERE pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), redo_lsn) > ${MAX_LOG_BYTES}`;

const code = (type: string): number => type.charCodeAt(0);
const [QUERY, TERMINATE] = [code('Q'), code('X')];
const SYNC = Buffer.from([code('S'), 0, 0, 0, 4]);
/** The length of ReadyForQuery (PostgreSQL protocol, "Message Formats"). */
const READY_BYTES = 6;
const FATAL = Buffer.from('VFATAL\0');

/** @returns undefined if the response does not end with ReadyForQuery. */
function parseStatus(end: Uint8Array): string | undefined {
  const ready = Buffer.from(end).subarray(-READY_BYTES);
  return ready[0] === code('Z') && ready[4] === 5 ? ready.toString('latin1', 5) : undefined;
}

/** The search for the severity is safe, because a string in a row has no NUL. */
function parseFatal(data: Uint8Array): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const at = bytes.indexOf(FATAL);
  return at === -1 ? undefined : (/\0M([^\0]*)/.exec(bytes.toString('utf8', at))?.[1] ?? '');
}

/**
 * PGlite has one session, which serves one connection at a time for a query, an extended query up to its
 * Sync, or a transaction. `onEnd` must exit the thread, because PGlite may respond forever after a fatal
 * error.
 */
export function createBackend(db: PGlite, onEnd: (reason: string) => void) {
  let waiting: Entry[] = [];
  /** The connection that is in a transaction or in an unfinished extended query. */
  let holder: EmbeddedConnection | undefined;
  let isCheckpointWanted = false;
  let working: Promise<void> | undefined;

  async function run({ connection, message }: Entry): Promise<void> {
    let end: Uint8Array = new Uint8Array();
    await db.execProtocolRawStream(message, {
      onRawData: (data) => {
        // The part is copied, because it is a view of memory that PGlite changes.
        const part = data.slice();
        end = part.length < READY_BYTES ? Buffer.concat([end, part]) : part.slice(-READY_BYTES);
        const fatal = parseFatal(part);
        connection.port.postMessage(part, [part.buffer]);
        if (fatal !== undefined) onEnd(fatal);
      },
    });
    const status = parseStatus(end);
    const isComplete = message[0] === QUERY || SYNC.equals(message.subarray(-SYNC.length));
    if (isComplete && status === undefined) throw new Error('the backend has ended');
    holder = status === 'I' ? undefined : connection;
  }

  async function rollBack(): Promise<void> {
    // Sync ends an unfinished extended query.
    await db.execProtocolRawStream(SYNC, { onRawData: () => undefined });
    await db.exec('ROLLBACK');
    holder = undefined;
  }

  async function checkpoint(): Promise<void> {
    isCheckpointWanted = false;
    const [due] = await db.exec(CHECKPOINT_DUE);
    if (due?.rows.length === 1) await db.exec('CHECKPOINT');
  }

  async function work(): Promise<void> {
    for (;;) {
      if (holder?.closed === true) await rollBack();
      else if (holder === undefined && isCheckpointWanted) await checkpoint();
      else {
        const at = waiting.findIndex(({ connection }) => holder === undefined || connection === holder);
        const [entry] = at === -1 ? [] : waiting.splice(at, 1);
        if (entry === undefined) return;
        await run(entry);
      }
    }
  }

  function wake(): void {
    working ??= work()
      .catch((error: unknown) => onEnd(String(error)))
      .finally(() => {
        working = undefined;
      });
  }

  return {
    accept(port: MessagePort): void {
      const connection: EmbeddedConnection = { port, closed: false };
      port.on('message', (message: Uint8Array) => {
        if (message[0] === TERMINATE) return;
        waiting.push({ connection, message });
        wake();
      });
      port.on('close', () => {
        connection.closed = true;
        waiting = waiting.filter((entry) => entry.connection !== connection);
        wake();
      });
    },
    /** PGlite never checkpoints by itself. */
    checkpoint(): void {
      isCheckpointWanted = true;
      wake();
    },
    async settled(): Promise<void> {
      await working;
    },
  };
}
