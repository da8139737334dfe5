import type { Client, QueryResultRow } from 'pg';
import { withTimeout } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import type { Database } from './database.ts';
import { messageOf } from './preflight.ts';

/** A notification as PostgreSQL sends it. */
export interface Heard {
  readonly channel: string;
  readonly payload: string;
  /** Whether it was sent with `notify` of this process. */
  readonly own: boolean;
}

/** Listens for notifications of other processes. */
export interface Listener {
  /** Sends a notification. Undefined while there is no connection. Rejects if it could not be sent. */
  notify(channel: string): Promise<unknown> | undefined;
  /** The rows of a short query on its connection. Undefined while there is none. Rejects if it fails. */
  ask<Row extends QueryResultRow>(sql: string): Promise<Row[]> | undefined;
  /** True while there is a connection. */
  readonly connected: boolean;
  /** True if the connection responded a moment ago: notifications arrive. A stalled connection stays open for long. */
  readonly hears: boolean;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly channels: readonly string[];
  readonly onNotification: (heard: Heard) => void;
  /** Called after each (re)connection, since notifications may have been missed. */
  readonly onConnect: () => void;
}

const FIRST_PAUSE_MS = 100;
/** After an outage, what is listened for waits at most this long. */
const LONGEST_PAUSE_MS = 2_000;
const END_LIMIT_MS = 1_000;
/**
 * How often the connection is probed, and for how many times a response may be missing, so that a change that is missed
 * applies within a second. Times are not compared: a busy event loop delays probes and responses alike.
 */
const PROBE_INTERVAL_MS = 150;
const MAX_MISSED = 3;

/** The embedded database: notifications come on the connection that has sent them. */
function embedded(
  notified: NonNullable<Database['notified']>,
  { onNotification, onConnect }: ListenerOptions,
): Listener {
  const stop = notified((notification) => {
    if (notification === undefined) onConnect();
    else onNotification({ channel: notification.channel, payload: notification.payload ?? '', own: false });
  });
  return {
    notify: () => undefined,
    ask: () => undefined,
    connected: true,
    hears: true,
    async close() {
      stop();
    },
  };
}

/** Runs LISTEN on a dedicated connection, which bypasses a connection pooler. */
export function createListener(options: ListenerOptions): Listener {
  const { database, log, channels, onNotification, onConnect } = options;
  if (database.notified !== undefined) return embedded(database.notified, options);
  let client: Client | undefined;
  let connecting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  let pauseMs = FIRST_PAUSE_MS;
  let probing = false;
  let missed = 0;
  const outage = createOutageReporter(log, 'listener.disconnected', 'listener.reconnected');

  /** Does not wait for an unresponsive server. */
  async function end(which: Client): Promise<void> {
    const ended = which.end().catch((error: unknown) => log.emit('database.close_failed', { err: error }));
    await withTimeout(END_LIMIT_MS, ended);
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
      mine.on('notification', ({ channel, payload = '', processId }) =>
        onNotification({ channel, payload, own: processId === pid }),
      );
      for (const channel of channels) await mine.query(`LISTEN ${channel}`);
      if (closed) return await end(mine);
      client = mine;
      missed = 0;
      pauseMs = FIRST_PAUSE_MS;
      outage.over();
      onConnect();
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
    clearTimeout(timer);
    timer = setTimeout(start, pauseMs).unref();
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    void reportError(error);
  }

  /** The watch of the database logs an outage of all of it. */
  async function reportError(error: unknown): Promise<void> {
    if (!(await database.watch.check()) || client !== undefined || closed) return;
    outage.failed({
      setting: database.directSetting,
      reason: error == null ? 'the server ended the connection' : messageOf(error),
    });
  }

  function start(): void {
    connecting = connect();
  }

  /** Sends nothing while a response is missing: the time limit of statements ends a connection that stays silent. */
  async function probe(): Promise<void> {
    if (probing) missed += 1;
    const probed = client;
    if (probed === undefined || probing) return;
    probing = true;
    try {
      await probed.query('SELECT');
      if (probed === client) missed = 0;
    } catch (error) {
      log.emit('listener.probe_failed', { err: error });
    } finally {
      probing = false;
    }
  }

  const probes = setInterval(probe, PROBE_INTERVAL_MS).unref();
  start();
  return {
    notify: (channel) => client?.query(`NOTIFY ${channel}`),
    ask: <Row extends QueryResultRow>(sql: string) => client?.query<Row>(sql).then(({ rows }) => rows),
    get connected() {
      return client !== undefined;
    },
    get hears() {
      return client !== undefined && missed < MAX_MISSED;
    },
    async close() {
      closed = true;
      clearInterval(probes);
      clearTimeout(timer);
      await connecting;
      if (client !== undefined) await end(client);
    },
  };
}
