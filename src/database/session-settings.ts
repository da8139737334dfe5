import { escapeIdentifier, escapeLiteral } from 'pg';

/** Notifies readers of the event log, without a payload. */
export const EVENTS_CHANNEL = 'content_graph_events';
/** Notifies that published documents were retired, without a payload. */
export const DOCUMENTS_CHANNEL = 'content_graph_documents';
/**
 * Notifies that blocked IP addresses or limits of accounts have changed. Triggers send the notification
 * without a payload.
 */
export const RESTRICTIONS_CHANNEL = 'content_graph_restrictions';
/** Notifies that credentials were revoked. Triggers send the id of an account, an application or a token. */
export const CREDENTIALS_CHANNEL = 'content_graph_credentials';

type Setting = readonly [name: string, value: string];

export const DEFAULT_SCHEMA = 'public';

/**
 * Settings of a server, database or role that change the meaning of a statement
 * (decisions/0028-session-settings.md).
 */
const MEANING: readonly Setting[] = [
  ['TimeZone', 'UTC'],
  ['DateStyle', 'ISO, MDY'],
  ['IntervalStyle', 'postgres'],
  ['client_encoding', 'UTF8'],
  ['bytea_output', 'hex'],
  ['extra_float_digits', '1'],
  ['array_nulls', 'on'],
  ['standard_conforming_strings', 'on'],
  ['transform_null_equals', 'off'],
  ['exit_on_error', 'off'],
  ['default_transaction_isolation', 'read committed'],
  ['lock_timeout', '0'],
];

/**
 * Every list is read in the order of an index, one page at a time. JIT compilation takes longer than the
 * statement, and a bitmap scan reads all posts of a prolific author to sort them
 * (decisions/0017-planner-settings.md).
 */
const PLANNING: readonly Setting[] = [
  ['jit', 'off'],
  ['enable_bitmapscan', 'off'],
];

export interface SettingsScope {
  readonly schema: string;
  /** Clients of a pooler share sessions, so settings must end with the transaction. */
  readonly local?: boolean;
  readonly limits?: Readonly<Record<string, number>>;
  /** Only PostgreSQL 17 and later have `transaction_timeout`. */
  readonly transactionLimitMs?: number | undefined;
}

/** The SQL is one statement, so it may be part of a round trip. */
export function settingsSql({
  schema,
  local = false,
  limits = {},
  transactionLimitMs,
}: SettingsScope): string {
  const further = Object.entries(limits).map(([name, value]): Setting => [name, String(value)]);
  const path: Setting = ['search_path', escapeIdentifier(schema)];
  const calls = [...MEANING, ...PLANNING, path, ...further].map(
    ([name, value]) => `set_config('${name}', ${escapeLiteral(value)}, ${local})`,
  );
  if (transactionLimitMs !== undefined)
    calls.push(
      `(SELECT set_config('transaction_timeout', '${transactionLimitMs}', ${local}) WHERE current_setting('server_version_num')::int >= 170000)`,
    );
  return `SELECT ${calls.join(', ')}`;
}

interface Fixed {
  readonly setting: string;
  readonly value: string;
  /** Completes a sentence that starts with the database. */
  readonly advice: (found: string) => string;
}

/** A connection cannot set these requirements (contract: any database). */
export const FIXED_SETTINGS: readonly Fixed[] = [
  {
    setting: 'server_encoding',
    value: 'UTF8',
    advice: (found) =>
      `has the encoding ${found}, and the service needs UTF8: create the database with ENCODING 'UTF8' TEMPLATE template0`,
  },
  {
    // Other values disable triggers and foreign keys, so comments are not counted and revocations not
    // notified.
    setting: 'session_replication_role',
    value: 'origin',
    advice: (found) =>
      `has session_replication_role = ${found}, which turns triggers and foreign keys off: reset it for the database and the role`,
  },
];
