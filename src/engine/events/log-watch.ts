import type { Database } from '../../database/database.ts';
import type { Listener } from '../../database/listener.ts';
import { EVENTS_CHANNEL } from '../../database/session-settings.ts';
import type { Logger } from '../../platform/log/log.ts';
import { createOutageReporter } from '../../platform/log/log-limits.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { BLOCKED, HORIZON } from './event-log.ts';
import type { EventFeed } from './feed.ts';
import { IS_OPEN, openLog } from './log-state.ts';

/** The minimum interval between notifications. One notification covers all earlier commits. */
const MIN_INTERVAL_MS = 10;

export interface EventNotifierOptions {
  readonly feed: Pick<EventFeed, 'wake'>;
  readonly listener: Pick<Listener, 'notify'>;
  readonly log: Logger;
}

/**
 * Notifies readers of new events. Notifications carry no data, and readers also poll the log in case one is lost. NOTIFY runs
 * on the connection that listens, after the commit: inside the transaction, PostgreSQL would serialise all commits that
 * notify. The embedded database has only one writing process and needs no NOTIFY.
 */
export function createEventNotifier({ feed, listener, log }: EventNotifierOptions) {
  let pause: NodeJS.Timeout | undefined;
  let sending = false;
  let again = false;

  function send(): void {
    if (sending) {
      again = true;
      return;
    }
    const sent = listener.notify(EVENTS_CHANNEL);
    if (sent === undefined) return;
    sending = true;
    sent
      .catch((error: unknown) => log.emit('events.notify_failed', { err: error }))
      .finally(() => {
        pause = setTimeout(rested, MIN_INTERVAL_MS).unref();
      });
  }

  function rested(): void {
    sending = false;
    if (!again) return;
    again = false;
    send();
  }

  return {
    /** Notifies the readers of all instances of a commit. Calls in quick succession are merged. */
    notify(): void {
      feed.wake();
      send();
    },
    close: () => clearTimeout(pause),
  };
}

/** Blocked events are logged at the first look at which they are older than STATEMENT_TIMEOUT_MS allows by default: within 10 s. */
const INTERVAL_MS = 2_000;
const TOLD_AFTER_SECONDS = 5;

const LOOK = `SELECT ${IS_OPEN} AS open, (
    SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM events WHERE ${BLOCKED} ORDER BY era, xid, id LIMIT 1
  ) AS seconds`;

interface Look {
  /** True if the log belongs to this server and database. */
  readonly open: boolean;
  /** The age of the oldest event that cannot be read yet. */
  readonly seconds: number | null;
}

/** Finds who runs the oldest transaction. Every transaction that has an id locks the id, and every role can see locks. */
const HOLDER = `SELECT p.gid, l.pid, coalesce(p.owner, a.usename) AS "user", coalesce(p.database, a.datname) AS database,
    a.application_name AS application
  FROM pg_locks l LEFT JOIN pg_prepared_xacts p ON p.transaction = l.transactionid LEFT JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.transactionid = ${HORIZON}::xid`;

interface Holder {
  /** The name of a prepared transaction, which has no connection. */
  readonly gid: string | null;
  readonly pid: number | null;
  readonly user: string | null;
  readonly database: string | null;
  readonly application: string | null;
}

/** The log fields that say what blocks the events and how to stop it. */
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
 * Watches the log even while no stream reads it: for a transaction, in any database of the server, that blocks events from
 * being read, and for a restored dump, whose events must be adopted before the next dump. It uses the connection that
 * listens, which bypasses a pooler and does not wait for other clients.
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
    // The transaction may have ended between the two looks.
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
    /** The age of the oldest event that cannot be read yet, in seconds; 0 if there is none. As of the last look. */
    get blockedSeconds(): number {
      return seconds;
    },
    close: () => clearInterval(timer),
  };
}

export type LogWatch = ReturnType<typeof watchLog>;

/** Has the metrics tell whether events of all instances can be read. */
export function registerEventMetrics(
  metrics: Metrics,
  { logWatch, listener }: { readonly logWatch: LogWatch; readonly listener: Listener },
): void {
  metrics.gauge(
    'content_graph_event_delivery_blocked_seconds',
    'Age of the oldest committed event that cannot be delivered because an older transaction is still open. 0 if there is none.',
    () => logWatch.blockedSeconds,
  );
  metrics.gauge(
    'content_graph_notification_listener_up',
    'Whether the LISTEN connection for events of other instances is open (1) or lost (0). Always 1 with the embedded database.',
    () => (listener.connected ? 1 : 0),
  );
}
