import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Listener } from '../../database/listener.ts';
import { EVENTS_CHANNEL } from '../../database/session-settings.ts';
import { coalesceRuns } from '../../platform/async.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { BLOCKED, HORIZON } from './event-log.ts';
import type { EventFeed } from './feed.ts';
import { IS_OPEN, openLog } from './log-state.ts';

/** One notification covers all earlier commits. */
const MIN_INTERVAL_MS = 10;

export interface EventNotifierOptions {
  readonly feed: Pick<EventFeed, 'wake'>;
  readonly listener: Pick<Listener, 'notify'>;
  readonly log: Logger;
}

/**
 * Notifications carry no data, and readers also poll the log in case one is lost. NOTIFY runs on the LISTEN
 * connection after the commit, because NOTIFY in the transaction makes PostgreSQL serialise the commits. The embedded
 * database has only one writing process and needs no NOTIFY.
 */
export function createEventNotifier({ feed, listener, log }: EventNotifierOptions) {
  let closed = false;
  const send = coalesceRuns(async () => {
    const sent = closed ? undefined : listener.notify(EVENTS_CHANNEL);
    if (sent === undefined) return;
    await sent.catch((error: unknown) => log.emit('events.notify_failed', { err: error }));
    await delay(MIN_INTERVAL_MS, undefined, { ref: false });
  });

  return {
    /** Calls in quick succession are merged. */
    notify(): void {
      feed.wake();
      void send();
    },
    close(): void {
      closed = true;
    },
  };
}

/** Blocked events are logged within 10 s, when they are older than the default of STATEMENT_TIMEOUT_MS. */
const INTERVAL_MS = 2_000;
const TOLD_AFTER_SECONDS = 5;

const LOOK = `SELECT ${IS_OPEN} AS open, (
    SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM events WHERE ${BLOCKED} ORDER BY era, xid, id LIMIT 1
  ) AS seconds`;

interface Look {
  readonly open: boolean;
  readonly seconds: number | null;
}

/** A transaction with an id holds a lock on the id, and every role can see locks. */
const HOLDER = `SELECT p.gid, l.pid, coalesce(p.owner, a.usename) AS "user", coalesce(p.database, a.datname) AS database,
    a.application_name AS application
  FROM pg_locks l LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.transactionid = ${HORIZON}::xid`;

interface Holder {
  /** A prepared transaction has no connection. */
  readonly gid: string | null;
  readonly pid: number | null;
  readonly user: string | null;
  readonly database: string | null;
  readonly application: string | null;
}

function fieldsOf({ gid, pid, user, database, application }: Holder) {
  return gid === null
    ? {
        blockedBy: `process ${pid}`,
        user,
        database,
        applicationName: application,
        hint: `end its transaction, or run: SELECT pg_terminate_backend(${pid})`,
      }
    : {
        blockedBy: `prepared transaction ${gid}`,
        user,
        database,
        hint: `in database ${database}, run COMMIT PREPARED or ROLLBACK PREPARED with '${gid}'`,
      };
}

export interface LogWatchOptions {
  readonly database: Database;
  readonly listener: Pick<Listener, 'ask'>;
  readonly log: Logger;
}

/**
 * Finds transactions in any database of the server that block events, even while no stream is open. Adopts the events
 * of a restored dump before the next dump. The LISTEN connection bypasses a pooler and does not wait for other
 * clients.
 */
export function watchLog({ database, listener, log }: LogWatchOptions) {
  const waiting = createOutageReporter(log, 'events.blocked', 'events.unblocked');
  let seconds = 0;
  let looking = false;

  async function look(): Promise<void> {
    const [looked] = (await listener.ask<Look>(LOOK)) ?? [];
    // The connection is lost, so there is nothing new to report.
    if (looked === undefined) return;
    if (!looked.open) await openLog(database, log);
    seconds = looked.seconds ?? 0;
    if (seconds < TOLD_AFTER_SECONDS) return waiting.over();
    const [holder] = (await listener.ask<Holder>(HOLDER)) ?? [];
    // The transaction may have ended between the two statements.
    if (holder !== undefined) waiting.failed({ blockedSeconds: Math.round(seconds), ...fieldsOf(holder) });
  }

  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      // The listener logs the loss of the connection.
      .catch((error: unknown) => log.emit('events.log_check_failed', { err: error }))
      .finally(() => {
        looking = false;
      });
  }, INTERVAL_MS).unref();
  return {
    /** The age at the last check. 0 without a blocked event. */
    get blockedSeconds(): number {
      return seconds;
    },
    close: () => clearInterval(timer),
  };
}

export type LogWatch = ReturnType<typeof watchLog>;

export function registerEventMetrics(
  metrics: Metrics,
  { logWatch, listener }: { readonly logWatch: LogWatch; readonly listener: Listener },
): void {
  metrics.gauge(
    'content_graph_event_delivery_blocked_seconds',
    'Age of the oldest committed event that waits for an older open transaction. 0 if none.',
    () => logWatch.blockedSeconds,
  );
  metrics.gauge(
    'content_graph_notification_listener_up',
    'Whether the LISTEN connection is open. Always 1 with the embedded database.',
    () => (listener.connected ? 1 : 0),
  );
}
