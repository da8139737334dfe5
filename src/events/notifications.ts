import type { Client } from 'pg';
import { atMost } from '../platform/at-most.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';

/** Wake-ups between instances. They carry no data: readers poll the log in case one is lost. */
export interface Notifications {
  /** Tells the other instances about a commit. Calls in quick succession are merged. */
  announce(): void;
  close(): Promise<void>;
}

const CHANNEL = 'content_graph_events';
const RECONNECT_MS = 500;
const END_LIMIT_MS = 1_000;
/** The minimum interval between wake-ups. One covers all earlier commits. */
const MIN_INTERVAL_MS = 10;

export interface NotificationsOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called for each wake-up by another process and after each (re)connection, since wake-ups may have been missed. */
  readonly onWake: () => void;
}

/**
 * Runs LISTEN on a dedicated connection. NOTIFY uses it too, after the commit: inside the transaction,
 * PostgreSQL would serialise all commits that notify. The embedded database has only one writing process and
 * needs neither.
 */
export function connectNotifications({ database, log, onWake }: NotificationsOptions): Notifications {
  if (database.kind === 'embedded') return { announce: () => undefined, close: async () => undefined };
  let client: Client | undefined;
  let connecting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;
  let closed = false;
  let sending = false;
  let again = false;

  /** Does not wait for an unresponsive server. */
  async function end(which: Client): Promise<void> {
    const ended = which
      .end()
      .catch((error: unknown) => log.debug({ err: error }, 'closing a broken connection failed'));
    await atMost(END_LIMIT_MS, ended);
  }

  async function connect(): Promise<void> {
    let connected: Client | undefined;
    try {
      connected = await database.dedicatedClient({ limited: true });
      const mine = connected;
      mine.on('error', (error) => lost(mine, error));
      mine.on('end', () => lost(mine, undefined));
      const { rows } = await mine.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const pid = rows[0]?.pid;
      mine.on('notification', ({ processId }) => {
        // This process woke its own readers when it committed.
        if (processId !== pid) onWake();
      });
      await mine.query(`LISTEN ${CHANNEL}`);
      if (closed) return await end(mine);
      client = mine;
      onWake();
    } catch (error) {
      if (connected !== undefined) await end(connected);
      retry(error);
    }
  }

  function lost(which: Client, error: Error | undefined): void {
    if (client !== which) return;
    client = undefined;
    void end(which);
    retry(error);
  }

  function retry(error: unknown): void {
    if (closed) return;
    log.warn({ err: error }, 'the connection for wake-ups was lost; reconnecting');
    clearTimeout(timer);
    timer = setTimeout(start, RECONNECT_MS).unref();
  }

  function start(): void {
    connecting = connect();
  }

  function announce(): void {
    if (client === undefined) return;
    if (sending) {
      again = true;
      return;
    }
    sending = true;
    client
      .query(`NOTIFY ${CHANNEL}`)
      .catch((error: unknown) => log.debug({ err: error }, 'a wake-up could not be sent'))
      .finally(() => {
        pause = setTimeout(sent, MIN_INTERVAL_MS).unref();
      });
  }

  function sent(): void {
    sending = false;
    if (!again) return;
    again = false;
    announce();
  }

  start();
  return {
    announce,
    async close() {
      closed = true;
      clearTimeout(timer);
      clearTimeout(pause);
      await connecting;
      if (client !== undefined) await end(client);
    },
  };
}
