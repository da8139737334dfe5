import type { Client, QueryResult, QueryResultRow } from 'pg';
import { withTimeout } from '../platform/deadline.ts';
import type { Logger } from '../platform/log/log.ts';
import { createOutageReporter } from '../platform/log/log-limits.ts';
import type { Database } from './database.ts';
import { messageOf } from './preflight.ts';

export interface Heard {
  readonly channel: string;
  readonly payload: string;
  /** True if this process has sent the notification. */
  readonly own: boolean;
}

export interface Listener {
  /** Undefined while disconnected. Rejects if the statement fails. */
  notify(channel: string): Promise<unknown> | undefined;
  /** Runs a short query on the connection for LISTEN. Undefined while disconnected. */
  ask<Row extends QueryResultRow>(sql: string): Promise<Row[]> | undefined;
  readonly connected: boolean;
  /**
   * True if the connection responded a moment ago, so that notifications arrive. A stalled connection can
   * stay open for hours.
   */
  readonly hears: boolean;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly database: Database;
  readonly log: Logger;
  readonly channels: readonly string[];
  readonly onNotification: (heard: Heard) => void;
  /** Called after each connection and reconnection, because notifications may have been missed. */
  readonly onConnect: () => void;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;
const END_LIMIT_MS = 1_000;
/**
 * The connection counts as stalled after 3 missing responses, so that a missed change applies within 1 s.
 * Probes are counted and times are not compared, because a busy event loop delays probes and responses alike.
 */
const PROBE_INTERVAL_MS = 150;
const MAX_MISSED = 3;

/**
 * The embedded database delivers notifications on the connection that has sent them, so this listener opens
 * none.
 */
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
  /** Settles after all queries of the connection. */
  let sent: Promise<unknown> = Promise.resolve();
  const outage = createOutageReporter(log, 'listener.disconnected', 'listener.reconnected');

  /** Sends one query at a time, because pg deprecates a query on a connection that waits for another. */
  function send<Row extends QueryResultRow>(on: Client, sql: string): Promise<QueryResult<Row>> {
    const result = sent.then(() => on.query<Row>(sql));
    sent = Promise.allSettled([result]);
    return result;
  }

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
      sent = Promise.resolve();
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

  /** The watch of the database logs an outage of the whole database. */
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

  /**
   * Sends no probe while a response is missing. The time limit of statements closes a connection that stays
   * silent.
   */
  async function probe(): Promise<void> {
    if (probing) missed += 1;
    const probed = client;
    if (probed === undefined || probing) return;
    probing = true;
    try {
      await send(probed, 'SELECT');
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
    notify: (channel) => client && send(client, `NOTIFY ${channel}`),
    ask: <Row extends QueryResultRow>(sql: string) =>
      client && send<Row>(client, sql).then(({ rows }) => rows),
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
