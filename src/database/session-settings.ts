import { escapeIdentifier, escapeLiteral } from 'pg';

/** Wakes readers of the event log. Without a payload. */
export const EVENTS_CHANNEL = 'content_graph_events';
/** Published documents were retired. Without a payload. */
export const DOCUMENTS_CHANNEL = 'content_graph_documents';
/** Blocked addresses or limits of accounts have changed. Without a payload; triggers send it. */
export const RESTRICTIONS_CHANNEL = 'content_graph_restrictions';
/** Credentials have ended; the payload is the id of an account, an application or a token. Triggers send it. */
export const CREDENTIALS_CHANNEL = 'content_graph_credentials';

/** A PostgreSQL setting and its value. */
type Setting = readonly [name: string, value: string];

/** Where the tables are unless DATABASE_URL names another schema. */
export const DEFAULT_SCHEMA = 'public';

/**
 * What the configuration of a server, database or role may set, and what changes the meaning of a statement: how
 * timestamps, numbers and bytes are written and read, what a literal is, what a transaction sees, what an error ends
 * (decision 28).
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
 * Every list is read in the order of an index, a page at a time. Compiling its statement takes longer than running it, and
 * a bitmap scan reads all posts of a prolific author to sort them (decision 17).
 */
const PLANNING: readonly Setting[] = [
  ['jit', 'off'],
  ['enable_bitmapscan', 'off'],
];

export interface SettingsScope {
  /** The schema of the tables. */
  readonly schema: string;
  /** Only until the transaction ends: through a pooler, sessions belong to nobody. */
  readonly local?: boolean;
  /** Further settings, in the units of PostgreSQL. */
  readonly limits?: Readonly<Record<string, number>>;
  /** The longest time of a transaction, where the server knows `transaction_timeout` (PostgreSQL 17). */
  readonly transactionLimitMs?: number | undefined;
}

/** SQL that sets what every statement of the service expects. One statement: it may be part of a flight. */
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

/** A requirement that no connection can set for itself. */
interface Fixed {
  readonly setting: string;
  readonly value: string;
  /** What is wrong and what to do, after the place of the database. */
  readonly advice: (found: string) => string;
}

/** What a database must be like (contract section 8). */
export const FIXED_SETTINGS: readonly Fixed[] = [
  {
    setting: 'server_encoding',
    value: 'UTF8',
    advice: (found) =>
      `has the encoding ${found}, and the service needs UTF8: create the database with ENCODING 'UTF8' TEMPLATE template0`,
  },
  {
    // Otherwise triggers and foreign keys do nothing: comments are not counted, endings are not told.
    setting: 'session_replication_role',
    value: 'origin',
    advice: (found) =>
      `has session_replication_role = ${found}, which turns triggers and foreign keys off: reset it for the database and the role`,
  },
];
