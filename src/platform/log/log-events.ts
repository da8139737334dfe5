interface LogEventEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Values are separate fields. */
  readonly message: string;
}

/**
 * A code never changes. scripts/api-docs/log-events.ts has the meaning of each code and the advice. `npm run
 * docs:api` writes both into docs/logging.md.
 */
export const LOG_EVENTS = {
  'service.starting': { level: 'info', message: 'Starting' },
  'service.started': { level: 'info', message: 'Listening' },
  'service.stopping': { level: 'info', message: 'Shutting down' },
  'service.stopped': { level: 'info', message: 'Shutdown complete' },
  'service.already_stopping': { level: 'info', message: 'Shutdown is already in progress' },
  'service.signal_ignored': { level: 'info', message: 'Ignored a signal' },
  'service.shutdown_failed': { level: 'error', message: 'Shutdown failed; no acknowledged write is lost' },
  'service.file_limit_low': { level: 'warn', message: 'The open-file limit is below the recommended value' },
  'service.unknown_setting': {
    level: 'warn',
    message: 'An environment variable resembles a setting and has no effect',
  },
  'service.node_warning': { level: 'warn', message: 'Node.js reported a warning' },
  'http.request': { level: 'info', message: 'Request completed' },
  'http.requests_rejected': {
    level: 'warn',
    message: 'Rejected further requests of this client in the last minute',
  },
  'http.internal_error': { level: 'error', message: 'Request failed outside GraphQL: this is a bug' },
  'http.proxy_untrusted': {
    level: 'warn',
    message: 'Ignored X-Forwarded-* headers from a peer that is not in TRUST_PROXY',
  },
  'http.cors_rejected': {
    level: 'warn',
    message: 'Origin is not in CORS_ORIGINS, so its pages cannot read responses',
  },
  'http.connection_rejected': {
    level: 'warn',
    message: 'Rejected a connection: the open-file limit is reached',
  },
  'graphql.execution_path': { level: 'debug', message: 'Operation executed' },
  'graphql.slow_operation': { level: 'warn', message: 'Slow operation' },
  'graphql.internal_error': { level: 'error', message: 'Internal error: this is a bug' },
  'plugins.mutation_failed': { level: 'error', message: 'A plugin failed after a mutation' },
  'plugins.stream_failed': { level: 'error', message: 'A plugin failed on an event stream' },
  'auth.login': { level: 'info', message: 'Login succeeded' },
  'auth.password_changed': { level: 'info', message: 'Password changed' },
  'auth.login_failed': { level: 'warn', message: 'Login failed' },
  'auth.credential_rejected': { level: 'warn', message: 'Credential rejected' },
  'auth.session_cookie_dropped': { level: 'warn', message: 'The browser will drop the session cookie' },
  'auth.session_not_verified': { level: 'debug', message: 'Cannot verify a cached session' },
  'auth.last_used_store_failed': {
    level: 'warn',
    message: 'Cannot store the last-used time of a credential',
  },
  'auth.key_usage_store_failed': {
    level: 'warn',
    message: 'Cannot store the IP addresses that use an API key',
  },
  'account.export_interrupted': {
    level: 'warn',
    message: 'Account export interrupted; the download is incomplete',
  },
  'restrictions.refresh_failed': {
    level: 'warn',
    message: 'Cannot refresh IP blocks and account limits; keeping the last known ones',
  },
  'restrictions.recovered': { level: 'info', message: 'IP blocks and account limits are current again' },
  'jwks.fetch_failed': {
    level: 'warn',
    message: 'Cannot fetch JWT_JWKS_URL; known keys stay valid for up to one hour',
  },
  'jwks.recovered': { level: 'info', message: 'JWKS fetch recovered' },
  'oauth.signing_keys_replaced': {
    level: 'warn',
    message: 'SECRET_KEY has changed: existing signing keys cannot be decrypted, a new key signs from now on',
  },
  'oauth.internal_error': { level: 'error', message: 'The OAuth library failed: this is a bug' },
  'redis.unavailable': { level: 'warn', message: 'Redis is unavailable; rate limits apply per instance' },
  'redis.recovered': { level: 'info', message: 'Redis recovered' },
  'database.waiting': { level: 'warn', message: 'Waiting for the database' },
  'database.unreachable': { level: 'warn', message: 'Database is unreachable' },
  'database.recovered': { level: 'info', message: 'Database recovered' },
  'database.connection_limit_reached': {
    level: 'warn',
    message: 'Database accepts no further connection; requests wait for the open ones',
  },
  'database.connection_limit_recovered': {
    level: 'info',
    message: 'Database accepts further connections again',
  },
  'database.not_writable': { level: 'warn', message: 'Database rejects writes' },
  'database.writable': { level: 'info', message: 'Database accepts writes again' },
  'database.write_failed': { level: 'warn', message: 'A write failed' },
  'database.connection_lost': { level: 'warn', message: 'Database connection lost' },
  'database.statement_failed': { level: 'warn', message: 'Statement failed' },
  'database.close_failed': { level: 'debug', message: 'Cannot close a broken connection' },
  'database.write_check_failed': {
    level: 'debug',
    message: 'Cannot check whether the database accepts writes',
  },
  'clock.skewed': { level: 'warn', message: "This machine's clock differs from the database's clock" },
  'clock.recovered': { level: 'info', message: 'Clocks agree again' },
  'clock.check_failed': { level: 'warn', message: "Cannot read the database's clock" },
  'migrations.applied': { level: 'info', message: 'Applied migrations' },
  'migrations.pending': { level: 'warn', message: 'Migrations are pending: run "npm run -s db:migrate"' },
  'migrations.up_to_date': { level: 'info', message: 'Pending migrations have been applied' },
  'migrations.newer': { level: 'warn', message: 'The database has migrations of a newer version' },
  'migrations.mismatch': { level: 'error', message: 'Database migrations do not match this version' },
  'migrations.read_failed': { level: 'error', message: 'Cannot read the migration state' },
  'embedded_db.durability': {
    level: 'info',
    message:
      'Embedded database in use: survives a crash and a loss of power, not the loss of the disk; back up DATA_DIR',
  },
  'embedded_db.locked': { level: 'info', message: 'Waiting for another process to release DATA_DIR' },
  'embedded_db.crashed': { level: 'error', message: 'Embedded database crashed' },
  'embedded_db.restarting': { level: 'warn', message: 'Restarting the embedded database' },
  'embedded_db.restart_requested': {
    level: 'warn',
    message: 'Restarting the embedded database to stop a statement',
  },
  'embedded_db.restart_failed': { level: 'error', message: 'Cannot restart the embedded database' },
  'embedded_db.recovered': { level: 'info', message: 'Embedded database recovered' },
  'embedded_db.data_dir_unhealthy': { level: 'warn', message: 'DATA_DIR needs attention' },
  'embedded_db.data_dir_recovered': { level: 'info', message: 'DATA_DIR recovered' },
  'admin.command_started': { level: 'info', message: 'Admin command started' },
  'admin.command_invalid': { level: 'warn', message: 'Cannot read an admin command' },
  'admin.client_lost': { level: 'debug', message: 'Lost the client of an admin command' },
  'admin.socket_failed': {
    level: 'warn',
    message: 'Cannot open the admin socket: commands need a stopped server',
  },
  'job.failed': { level: 'warn', message: 'Job failed' },
  'job.recovered': { level: 'info', message: 'Job recovered' },
  'job.runner_failed': { level: 'warn', message: 'Cannot start jobs' },
  'job.runner_recovered': { level: 'info', message: 'Jobs can start again' },
  'job.rows_deleted': { level: 'debug', message: 'Job deleted rows' },
  'usage.deprecated_store_failed': { level: 'warn', message: 'Cannot store deprecated usage; retrying' },
  'usage.unpublished_store_failed': {
    level: 'warn',
    message: 'Cannot store unpublished operations; retrying',
  },
  'usage.client_store_failed': { level: 'warn', message: 'Cannot store client usage' },
  'usage.document_store_failed': {
    level: 'warn',
    message: 'Cannot store the last-used time of a published document',
  },
  'documents.refresh_failed': { level: 'warn', message: 'Cannot refresh published documents; retrying' },
  'documents.recovered': { level: 'info', message: 'Published documents are current again' },
  'idempotency.lock_not_held': {
    level: 'debug',
    message: 'Cannot hold the lock of an idempotency key while its mutation waits',
  },
  'listener.disconnected': {
    level: 'warn',
    message: 'LISTEN connection lost, reconnecting; events of other instances arrive up to 1 s late',
  },
  'listener.reconnected': { level: 'info', message: 'LISTEN connection restored' },
  'listener.probe_failed': { level: 'debug', message: 'The LISTEN connection did not respond' },
  'events.blocked': { level: 'warn', message: 'Event delivery is blocked by an open transaction' },
  'events.unblocked': { level: 'info', message: 'Event delivery resumed' },
  'events.log_read_failed': { level: 'warn', message: 'Cannot read the event log; retrying' },
  'events.log_check_failed': { level: 'debug', message: 'Cannot check the event log' },
  'events.batch_read_failed': { level: 'warn', message: 'Cannot read a batch of events; retrying' },
  'events.batch_retry_failed': { level: 'debug', message: 'Still cannot read a batch of events; retrying' },
  'events.notify_failed': { level: 'debug', message: 'Cannot send a notification to other instances' },
  'events.generation_changed': {
    level: 'warn',
    message: 'The event log has a new generation; restarting event streams',
  },
  'events.log_imported': { level: 'info', message: 'Imported an event log from another server' },
  'streams.failed': { level: 'warn', message: 'Event streams failed; clients reconnect and resume' },
  'streams.shutdown_failed': { level: 'error', message: 'Cannot close event streams' },
  'streams.heartbeat_failed': { level: 'error', message: 'Cannot send heartbeats: this is a bug' },
  'streams.recheck_failed': {
    level: 'warn',
    message: 'Cannot recheck an event stream; closing it so that the client reconnects',
  },
  'streams.credential_check_failed': {
    level: 'warn',
    message: 'Cannot check the credentials of event streams; retrying',
  },
  'streams.credential_check_recovered': {
    level: 'info',
    message: 'Credentials of event streams are checked again',
  },
  'streams.dead_clients_closed': { level: 'info', message: 'Closed event streams of dead clients' },
  'streams.connection_table_failed': { level: 'warn', message: "Cannot read the kernel's connection table" },
  'streams.dead_client_detection_off': {
    level: 'info',
    message: 'Dead-client detection is not available on this system',
  },
  'tracing.export_failed': { level: 'warn', message: 'Cannot export traces' },
  'tracing.recovered': { level: 'info', message: 'Trace export recovered' },
  'log.suppressed': { level: 'warn', message: 'Suppressed similar lines in the last minute' },
} as const satisfies Readonly<Record<string, LogEventEntry>>;

export type LogEventCode = keyof typeof LOG_EVENTS;
