import type { Client } from 'pg';
import { atMost } from '../platform/at-most.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/log.ts';

/** Wake-ups between instances. They carry nothing: the log is the truth, and it is polled in case one gets lost. */
export interface Notifications {
  /** Tells the other instances that something was committed. Many calls at once become one. */
  announce(): void;
  close(): Promise<void>;
}

const CHANNEL = 'content_graph_events';
const RECONNECT_MS = 500;
const END_LIMIT_MS = 1_000;
/** Wake-ups go out so far apart at least: one tells of everything before it. */
const MIN_INTERVAL_MS = 10;

export interface NotificationsOptions {
  readonly database: Database;
  readonly log: Logger;
  /** Called for each wake-up, and after a connection was lost and found, since some were missed meanwhile. */
  readonly onWake: () => void;
}

/**
 * LISTEN on a connection of its own. NOTIFY goes over the same connection after the commit and not in its
 * transaction, where PostgreSQL would have all commits with one wait for each other. The embedded database, where one
 * process writes, needs neither.
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

  /** A server that does not answer is not waited for. */
  async function end(which: Client): Promise<void> {
    const ended = which
      .end()
      .catch((error: unknown) => log.debug({ err: error }, 'a broken connection ended'));
    await atMost(END_LIMIT_MS, ended);
  }

  async function connect(): Promise<void> {
    let connected: Client | undefined;
    try {
      connected = await database.dedicatedClient({ limited: true });
      const mine = connected;
      mine.on('error', (error) => lost(mine, error));
      mine.on('end', () => lost(mine, undefined));
      mine.on('notification', () => onWake());
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
    log.warn({ err: error }, 'the connection for wake-ups was lost; connecting again');
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
      .catch((error: unknown) => log.debug({ err: error }, 'a wake-up was not sent'))
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
