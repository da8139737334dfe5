import type { Send } from './backend.ts';
import { COMMAND, type Standing } from './held-time.ts';
import { code, copyFail, startupParameters } from './protocol.ts';
import type { Session } from './session-switch.ts';

export interface Connection {
  /** Of the socket server. */
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

/** Parse, Bind, Describe, Execute and Close: held until the Sync or Flush that ends their batch. */
const HELD = new Set([...'PBDEC'].map(code));
/** What ends a connection, and the data of a COPY FROM STDIN, which has failed already. */
const IGNORED = new Set([...'Xdcf'].map(code));
const [QUERY, SYNC, FLUSH] = [...'QSH'].map(code);
/** The backend cannot wait for data in the middle of a statement: it would end. */
const NO_COPY = copyFail(
  'the embedded database takes no COPY FROM STDIN: use INSERT, or "admin restore" for a backup',
);

/** The service's connections say a name that nobody else knows, admin commands theirs. */
export function standingOf(application: string, own: string): Standing {
  if (application === own) return 'service';
  return application === COMMAND ? 'command' : 'guest';
}

/** The application_name in a connection's first message. */
export const applicationOf = (message: Uint8Array): string =>
  startupParameters(message)?.get('application_name') ?? '';

/**
 * Adds a message to those that a connection has sent. Returns them once they are complete: a simple query, an extended
 * query up to its Sync or a Flush. The messages of an extended query share the backend's unnamed statement and portal
 * until Sync (PostgreSQL protocol, "Extended Query"), so those of two connections must not be mixed.
 */
export function completed(connection: Connection, message: Uint8Array): readonly Uint8Array[] | undefined {
  const type = message[0] ?? 0;
  if (IGNORED.has(type)) return undefined;
  const { held } = connection;
  held.push(message);
  if (HELD.has(type)) return undefined;
  connection.held = [];
  if (connection.standing !== 'service') {
    if (type === QUERY) held.push(NO_COPY);
    if (type === SYNC || type === FLUSH) held.splice(-1, 0, NO_COPY);
  }
  return held;
}
