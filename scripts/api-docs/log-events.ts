import { LOG_EVENTS, type LogEventCode } from '../../src/platform/log/log-events.ts';

/** What each line means, which fields it has, and what to do. Of a recovery: the failures that it ends. */
const HELP: Readonly<Record<LogEventCode, string | readonly LogEventCode[]>> = {
  'service.starting': 'In development: the service loads its code, then opens the database.',
  'service.started': 'The service accepts requests at `url`.',
  'service.stopping': '`signal` has begun a graceful shutdown.',
  'service.stopped': 'The last line of a graceful shutdown.',
  'service.already_stopping': 'A second `signal` changes nothing.',
  'service.signal_ignored': '`signal` has no meaning for the service.',
  'service.shutdown_failed': 'Report it as a bug.',
  'service.file_limit_low':
    'The database and 500 clients need `recommended` files, but the limit is `limit`. Raise the limit (`ulimit -n`, `LimitNOFILE`).',
  'service.unknown_setting':
    '`variable` resembles the setting `meant`. Correct the name, or remove the variable.',
  'service.node_warning': '`err` has the message. Report it as a bug.',
  'http.request': 'See [Requests](#requests).',
  'http.requests_rejected':
    'See [Rejected requests](#rejected-requests) and [a client that does too much](blocks.md).',
  'http.internal_error': 'Report it.',
  'http.proxy_untrusted':
    'Logged once. If `peer` is your proxy, add it to `TRUST_PROXY`. Until then, all clients behind it share one IP address.',
  'http.cors_rejected': 'In development, once for each `origin`. `hint` says which setting allows it.',
  'http.connection_rejected':
    'All `limit` connections for clients are in use. Raise the limit (`ulimit -n`). With `err`, the system rejected the connection of `peer`.',
  'graphql.execution_path': 'See [Requests](#requests).',
  'graphql.slow_operation': 'See [Slow operations](#slow-operations).',
  'graphql.internal_error': 'Report it, with the stack in `err`. The client got only its request id.',
  'plugins.mutation_failed': 'A bug, in `err`. The response is unchanged.',
  'plugins.stream_failed':
    'A bug of a [Yoga plugin](../contributing/yoga-plugins.md), in `err`. The client reconnects and resumes.',
  'auth.login': 'See [Logins and credentials](#logins-and-credentials).',
  'auth.password_changed':
    'By the user, with `changePassword` or a link. See [Logins and credentials](#logins-and-credentials).',
  'auth.login_failed': 'See [Logins and credentials](#logins-and-credentials).',
  'auth.credential_rejected': 'See [Logins and credentials](#logins-and-credentials).',
  'auth.session_cookie_dropped': 'In development, after a login: `hint` says why and what to change.',
  'auth.session_not_verified': 'The request is authenticated again, and rejected if that fails, too.',
  'auth.last_used_store_failed': 'The time for the `credentialType` is late. Nothing else is affected.',
  'auth.key_usage_store_failed': '`api-key show` lacks a use. Nothing else is affected.',
  'account.export_interrupted': 'The browser reports a failed download.',
  'restrictions.refresh_failed':
    'Later changes are not in force on this instance. The service tries again twice a second.',
  'restrictions.recovered': ['restrictions.refresh_failed'],
  'jwks.fetch_failed': 'Tokens of other keys get 503.',
  'jwks.recovered': ['jwks.fetch_failed'],
  'oauth.signing_keys_replaced':
    'Issued OAuth access tokens stay valid until they expire, within 15 minutes.',
  'oauth.internal_error': 'Report it.',
  'redis.unavailable': '`reason` and `hint` say more.',
  'redis.recovered': ['redis.unavailable'],
  'database.waiting': 'At start, before `service.started`. See `reason` and `hint`.',
  'database.unreachable':
    '`/health/ready` and requests that need the database are 503. See `reason` and `hint`.',
  'database.recovered': ['database.waiting', 'database.unreachable'],
  'database.connection_limit_reached':
    'PostgreSQL, the role or a pooler has reached the limit in `reason`. Raise it, or lower `DATABASE_POOL_SIZE`.',
  'database.connection_limit_recovered': ['database.connection_limit_reached'],
  'database.not_writable':
    'See `reason`, `hint` and the [runbook](runbooks.md#contentgraphdatabasenotwritable). Reads work; writes and `/health/ready` are 503.',
  'database.writable': ['database.not_writable'],
  'database.write_failed':
    'Other writes succeed: a tablespace may be full, or the failure has passed. At most 10 lines a minute.',
  'database.connection_lost':
    'One connection broke because of `reason`. The pool opens another. At most 10 lines a minute.',
  'database.statement_failed':
    'A time limit, a lock or a lack of memory. The client got 503 or 504. During an outage the level is `debug`.',
  'database.close_failed': 'Nothing is affected.',
  'database.write_check_failed': 'The service tries again.',
  'clock.skewed':
    'By `offsetSeconds`, more than two; negative if this machine is behind. Set both clocks by NTP ([runbook](runbooks.md#contentgraphclockskew)).',
  'clock.recovered': ['clock.skewed'],
  'clock.check_failed': 'The service tries again after a minute.',
  'migrations.applied': 'The service has applied `migrations` at start.',
  'migrations.pending': '`migrations` has their names. `/health/ready` is 503 until they are applied.',
  'migrations.up_to_date': ['migrations.pending'],
  'migrations.newer':
    'Expected after a rollback: this version works with them. Otherwise check which version runs.',
  'migrations.mismatch':
    '`reason`: the text of a migration differs, or it was started and not finished. `/health/ready` is 503.',
  'migrations.read_failed': '`/health/ready` still checks the migrations.',
  'embedded_db.durability':
    'The database survives a loss of power only on a disk that honours flushes. `dataDir` is the directory.',
  'embedded_db.locked': 'An admin command or a stopping server uses `dataDir`, for some seconds.',
  'embedded_db.crashed': '`err` says why. The service restarts it.',
  'embedded_db.restarting': 'A line `embedded_db.crashed` says why.',
  'embedded_db.restart_requested':
    '`reason`: a statement exceeded its time limit. Unfinished work was rolled back.',
  'embedded_db.restart_failed': '`reason` says why and what to do. The next attempt is after `retryAfterMs`.',
  'embedded_db.recovered': ['embedded_db.restarting', 'embedded_db.restart_requested'],
  'embedded_db.data_dir_unhealthy':
    'Less than 16 MiB are left, or the directory is missing or not writable. See `reason` and `hint`.',
  'embedded_db.data_dir_recovered': ['embedded_db.data_dir_unhealthy'],
  'admin.command_started': '`user` of the operating system runs `command` over the admin socket.',
  'admin.command_invalid': 'A client of the admin socket sent no command, or has another version: see `err`.',
  'admin.client_lost': 'The connection failed. The command runs to its end.',
  'admin.socket_failed': 'The file system of `DATA_DIR` has no sockets, or its path is too long: see `err`.',
  'job.failed':
    '`job` failed for the first, second, fourth, eighth… time in a row (`failureCount`). It runs again every minute.',
  'job.recovered': ['job.failed'],
  'job.runner_failed':
    'No direct connection to PostgreSQL, so all jobs fail. See `err`, and check `DIRECT_DATABASE_URL`.',
  'job.runner_recovered': ['job.runner_failed'],
  'job.rows_deleted': '`job` has deleted `rows` rows.',
  'usage.deprecated_store_failed':
    '`admin deprecation list-usage` lacks the counts of this instance until the next attempt.',
  'usage.unpublished_store_failed':
    'The list of unpublished operations lacks the counts of this instance until the next attempt.',
  'usage.client_store_failed': '`admin top` lacks the last seconds of this instance.',
  'usage.document_store_failed': 'The time is late. Nothing else is affected.',
  'documents.refresh_failed':
    '[Trusted documents](../guides/trusted-documents.md) that an operator has retired may still be executed. Check the database.',
  'documents.recovered': ['documents.refresh_failed'],
  'idempotency.lock_not_held': 'A duplicate at another instance may run first. Only one of them commits.',
  'listener.disconnected':
    'The database responds, but not at `setting`: see `reason`. Revoked credentials close open streams within `CREDENTIAL_RECHECK_MS`.',
  'listener.reconnected': ['listener.disconnected'],
  'listener.probe_failed': 'The service connects again.',
  'events.blocked':
    'The oldest event waits for `blockedSeconds`. `blockedBy` has the transaction, `hint` how to end it ([runbook](runbooks.md#contentgrapheventdeliveryblocked)).',
  'events.unblocked': ['events.blocked'],
  'events.log_read_failed': 'No event is lost. Check the database.',
  'events.log_check_failed': 'The service checks again after 2 s.',
  'events.batch_read_failed': 'The subscribers of `streams` streams wait. No event is lost.',
  'events.batch_retry_failed': 'A further attempt after `events.batch_read_failed`.',
  'events.notify_failed': 'Other instances find the event by polling, within a second.',
  'events.generation_changed':
    'The database was restored, or a standby took over. Clients whose last event is missing get EVENT_HISTORY_EXPIRED.',
  'events.log_imported': 'A dump was restored. Its `events` precede all new events.',
  'search.indexing_failed':
    'Searches and counts of tags miss recent changes. See `err`. The service tries again every second.',
  'search.indexing_recovered': ['search.indexing_failed'],
  'search.events_lost':
    'The index is older than the oldest event, or the log has a new generation, for example after a restore.',
  'search.comparison_started':
    'After an upgrade, `search rebuild` or `search.events_lost`, if it takes longer than 5 s. Until then, a search can miss posts, the oldest last.',
  'search.comparison_completed': 'The comparison has taken `durationSeconds`.',
  'streams.failed': '`streams` is their number.',
  'streams.shutdown_failed': 'Report it, with `err`.',
  'streams.heartbeat_failed': 'Report it.',
  'streams.recheck_failed': 'The database was unavailable.',
  'streams.credential_check_failed':
    'The streams stay open. The service checks again within a second. Check the database.',
  'streams.credential_check_recovered': ['streams.credential_check_failed'],
  'streams.dead_clients_closed':
    'So many `connections` had no client any more. `reason`: `silent`, or `needed` for another stream.',
  'streams.connection_table_failed': 'Streams of dead clients close late.',
  'streams.dead_client_detection_off': 'Only Linux has it. Streams of dead clients close late.',
  'tracing.export_failed': 'The collector does not accept them: see `err`. Requests do not wait for it.',
  'tracing.recovered': ['tracing.export_failed'],
  'log.suppressed': '`suppressedCount` lines with the event `subject` are missing.',
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
      const codes = [event, ...recoveries.map(([other]) => other)]
        .map((code) => `\`${code}\``)
        .join(', then ');
      return [`- ${codes} (\`${level}\`): **${message}.** ${help}\n`];
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
