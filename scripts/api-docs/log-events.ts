import { LOG_EVENTS, type LogEventCode } from '../../src/platform/log/log-events.ts';

/** What each line means, which fields it has, and what to do; empty if the message says it. Of a recovery: the failures that it ends. */
const HELP: Readonly<Record<LogEventCode, string | readonly LogEventCode[]>> = {
  'service.starting': 'In development only.',
  'service.started': 'At `url`.',
  'service.stopping': 'After `signal`.',
  'service.stopped': '',
  'service.already_stopping': '',
  'service.signal_ignored': '',
  'service.shutdown_failed': 'A bug.',
  'service.file_limit_low':
    'The database and 500 clients need `recommended` files. Raise `limit` (`ulimit -n`, `LimitNOFILE`).',
  'service.unknown_setting': 'Rename `variable` to `meant`, or remove it.',
  'service.node_warning': 'A bug.',
  'http.request': '[Fields](#requests).',
  'http.requests_rejected': '[Fields](#rejected-requests). [What to do](blocks.md).',
  'http.internal_error': '',
  'http.proxy_untrusted':
    'Logged once. If `peer` is your proxy, add it: until then, its clients share one IP address.',
  'http.cors_rejected': 'In development, once for each `origin`. `hint` names the setting.',
  'http.connection_rejected':
    'All `limit` connections are in use: raise `ulimit -n`. With `err`, the system rejected the connection.',
  'graphql.execution_path': '[Fields](#requests).',
  'graphql.slow_operation': '[Fields](#slow-operations).',
  'graphql.internal_error': 'The client got only its request id.',
  'plugins.mutation_failed': 'A bug. The response is unchanged.',
  'plugins.stream_failed':
    'A bug of a [Yoga plugin](../contributing/yoga-plugins.md). The client reconnects and resumes.',
  'auth.login': '[Fields](#logins-and-credentials).',
  'auth.password_changed': 'By the user, with `changePassword` or a link. [Fields](#logins-and-credentials).',
  'auth.login_failed': '[Fields](#logins-and-credentials).',
  'auth.credential_rejected': '[Fields](#logins-and-credentials).',
  'auth.session_cookie_dropped': 'In development, after a login.',
  'auth.session_not_verified': '',
  'auth.last_used_store_failed': '',
  'auth.key_usage_store_failed': '`api-key show` lacks a use.',
  'account.export_interrupted': '',
  'restrictions.refresh_failed': 'Later changes are not in force on this instance.',
  'restrictions.recovered': ['restrictions.refresh_failed'],
  'jwks.fetch_failed': 'Tokens of other keys get 503.',
  'jwks.recovered': ['jwks.fetch_failed'],
  'oauth.signing_keys_replaced': 'Issued access tokens stay valid for up to 15 minutes.',
  'oauth.internal_error': '',
  'redis.unavailable': '',
  'redis.recovered': ['redis.unavailable'],
  'database.waiting': 'At start.',
  'database.unreachable': '`/health/ready` and requests that need the database are 503.',
  'database.recovered': ['database.waiting', 'database.unreachable'],
  'database.connection_limit_reached':
    'Raise the limit of PostgreSQL, the role or the pooler, or lower `DATABASE_POOL_SIZE`.',
  'database.connection_limit_recovered': ['database.connection_limit_reached'],
  'database.not_writable':
    'Reads work; writes and `/health/ready` are 503 ([runbook](runbooks.md#contentgraphdatabasenotwritable)).',
  'database.writable': ['database.not_writable'],
  'database.write_failed':
    'Others succeed: a tablespace may be full, or the failure has passed. At most 10 a minute.',
  'database.connection_lost': 'The pool opens another. At most 10 a minute.',
  'database.statement_failed':
    'A time limit, a lock or a lack of memory. The client got 503 or 504. During an outage, the level is `debug`.',
  'database.close_failed': '',
  'database.write_check_failed': '',
  'clock.skewed':
    'By `offsetSeconds`, more than two; negative if this machine is behind. Set both by NTP ([runbook](runbooks.md#contentgraphclockskew)).',
  'clock.recovered': ['clock.skewed'],
  'clock.check_failed': '',
  'migrations.applied': 'At start: `migrations`.',
  'migrations.pending': '`/health/ready` is 503 until they are applied.',
  'migrations.up_to_date': ['migrations.pending'],
  'migrations.newer': 'Expected after a rollback. Otherwise check which version runs.',
  'migrations.mismatch': 'The text of a migration differs, or it was not finished. `/health/ready` is 503.',
  'migrations.read_failed': '`/health/ready` still checks the migrations.',
  'embedded_db.durability': 'Only a disk that honours flushes survives a loss of power.',
  'embedded_db.locked': 'An admin command or a stopping server uses `dataDir`.',
  'embedded_db.crashed': '',
  'embedded_db.restarting': '',
  'embedded_db.restart_requested': 'A statement exceeded its time limit. Unfinished work was rolled back.',
  'embedded_db.restart_failed': 'The next attempt is after `retryAfterMs`.',
  'embedded_db.recovered': ['embedded_db.restarting', 'embedded_db.restart_requested'],
  'embedded_db.data_dir_unhealthy': 'Less than 16 MiB are left, or the directory is missing or not writable.',
  'embedded_db.data_dir_recovered': ['embedded_db.data_dir_unhealthy'],
  'admin.command_started': '`user` of the operating system runs `command`.',
  'admin.command_invalid': 'The client sent no command, or has another version.',
  'admin.client_lost': 'The command runs to its end.',
  'admin.socket_failed': 'The file system of `DATA_DIR` has no sockets, or its path is too long.',
  'job.failed':
    'For the first, second, fourth, eighth… time in a row (`failureCount`). It runs again every minute.',
  'job.recovered': ['job.failed'],
  'job.runner_failed': 'No direct connection to PostgreSQL: check `DIRECT_DATABASE_URL`.',
  'job.runner_recovered': ['job.runner_failed'],
  'job.rows_deleted': '',
  'usage.deprecated_store_failed': '`deprecation list-usage` lacks the counts of this instance.',
  'usage.unpublished_store_failed': 'Their list lacks the counts of this instance.',
  'usage.client_store_failed': '`admin top` lacks the last seconds of this instance.',
  'usage.document_store_failed': '',
  'documents.refresh_failed':
    'Retired [trusted documents](../guides/trusted-documents.md) may still be executed. Check the database.',
  'documents.recovered': ['documents.refresh_failed'],
  'idempotency.lock_not_held': 'A duplicate at another instance may run first. Only one commits.',
  'listener.disconnected':
    'The database responds, but not at `setting`. Revoked credentials close streams within `CREDENTIAL_RECHECK_MS`.',
  'listener.reconnected': ['listener.disconnected'],
  'listener.probe_failed': '',
  'events.blocked':
    'For `blockedSeconds`, by `blockedBy`. `hint` says how to end it ([runbook](runbooks.md#contentgrapheventdeliveryblocked)).',
  'events.unblocked': ['events.blocked'],
  'events.log_read_failed': 'No event is lost. Check the database.',
  'events.log_check_failed': '',
  'events.batch_read_failed': '`streams` streams wait. No event is lost.',
  'events.batch_retry_failed': 'After `events.batch_read_failed`.',
  'events.notify_failed': 'They find the event by polling, within a second.',
  'events.generation_changed':
    'After a restore or a failover. Clients whose last event is missing get EVENT_HISTORY_EXPIRED.',
  'events.log_imported': 'From a dump. Its `events` precede all new events.',
  'search.indexing_failed': 'Searches and counts of tags miss recent changes.',
  'search.indexing_recovered': ['search.indexing_failed'],
  'search.events_lost': 'The index is older than the oldest event, or the log has a new generation.',
  'search.comparison_started':
    'After an upgrade, `search rebuild` or `search.events_lost`. Until it is complete, a search can miss posts.',
  'search.comparison_completed': 'In `durationSeconds`.',
  'streams.failed': '',
  'streams.shutdown_failed': 'A bug.',
  'streams.heartbeat_failed': '',
  'streams.recheck_failed': 'The database was unavailable.',
  'streams.credential_check_failed': 'The streams stay open. Check the database.',
  'streams.credential_check_recovered': ['streams.credential_check_failed'],
  'streams.dead_clients_closed': '`reason`: `silent`, or `needed` for another stream.',
  'streams.connection_table_failed': 'Streams of dead clients close late.',
  'streams.dead_client_detection_off': 'It needs Linux. Streams of dead clients close late.',
  'tracing.export_failed': 'Requests do not wait for the collector.',
  'tracing.recovered': ['tracing.export_failed'],
  'log.suppressed': '`suppressedCount` lines of `subject` are missing.',
};

const BEGIN = '<!-- Generated from src/platform/log/log-events.ts by "npm run docs:api". -->\n';
const END = '<!-- End of the generated part. -->\n';

function formatLists(): string {
  const areas = Object.groupBy(
    Object.entries(LOG_EVENTS) as [LogEventCode, (typeof LOG_EVENTS)[LogEventCode]][],
    ([event]) => event.split('.')[0] ?? '',
  );
  const lists = Object.entries(areas).map(([area, events = []]) => {
    const items = events.flatMap(([event, { level, message }]) => {
      const help = HELP[event];
      if (typeof help !== 'string') return [];
      const recoveries = events.filter(
        ([other]) => typeof HELP[other] !== 'string' && HELP[other].includes(event),
      );
      const codes = [event, ...recoveries.map(([other]) => other)].map((code) => `\`${code}\``).join(', ');
      // Most events have the level "warn", which the page says once.
      const shown = level === 'warn' ? '' : ` (\`${level}\`)`;
      const item = `- ${codes}${shown}: **${message}.** ${help}`.trimEnd();
      return [`${item}\n`];
    });
    return `### ${area}\n\n${items.join('')}`;
  });
  return lists.join('\n');
}

/** Replaces the lists of events in docs/operate/logging.md by those of the code. */
export function printEventLists(page: string): string {
  const [before = '', rest = ''] = page.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  return `${before}${BEGIN}\n${formatLists()}\n${END}${after}`;
}
