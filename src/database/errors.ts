import pg from 'pg';

/**
 * What went wrong, as far as a caller can act on it. `unknown`: the connection was lost during a commit,
 * which may or may not have taken effect. Every other kind means that nothing was changed.
 */
export type DatabaseErrorKind = 'unavailable' | 'timeout' | 'locked' | 'conflict' | 'unknown' | 'other';

/** The only error that leaves the database layer. The cause is for the log and never shown to clients. */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  constructor(kind: DatabaseErrorKind, cause: unknown) {
    super(`database: ${kind}${cause instanceof Error ? `: ${cause.message}` : ''}`, { cause });
    this.name = 'DatabaseError';
    this.kind = kind;
  }

  /** True if the state of the database explains the error: its stack helps to find no bug. */
  get isExpected(): boolean {
    return this.kind !== 'other';
  }
}

/** SQLSTATE codes and classes (PostgreSQL appendix A) and Node's socket errors. */
const KINDS: readonly [RegExp, DatabaseErrorKind][] = [
  [/^57014$/, 'timeout'],
  [/^55P03$/, 'locked'],
  [/^40001$|^40P01$/, 'conflict'],
  [/^08|^57P0|^53|^25006$|^58030$|^28|^3D000$/, 'unavailable'],
  [
    /^E(CONN|PIPE|HOSTUNREACH|HOSTDOWN|NETUNREACH|TIMEDOUT|NOENT|AI_AGAIN|NOTFOUND|MFILE|NFILE|ADDRNOTAVAIL|ACCES)/,
    'unavailable',
  ],
  // The certificate of the server is not taken.
  [/^(?:ERR_TLS|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/, 'unavailable'],
  // A prepared statement is missing or already exists: the connection is replaced.
  [/^26000$|^42P05$/, 'unavailable'],
  [/^P(1001|1002|1008|1011|1017|2024)$/, 'unavailable'],
  [/^P2034$/, 'conflict'],
];

const LOST_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|not queryable|Connection ended|closed the connection|Can't reach database/i;

/** pg's messages for a connection that there never was: of another kind than the address asks for. */
const NO_TLS = /does not support SSL|establishing an SSL connection/;

/** pg's message for a connection that was already broken. */
const NEVER_SENT = /not queryable/;
/** SQLSTATE codes for a connection that the server, or a pooler in front of it, has ended. */
export const CONNECTION_LOST = /^08|^57P0/;
/** SQLSTATE for a cancelled statement whose outcome is unknown. */
export const TRANSACTION_RESOLUTION_UNKNOWN = '08007';

/** The SQLSTATE or system error code of an error, or of what it wraps; empty if it has none. */
export function getDatabaseErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, originalCode, cause, meta } = error as {
    code?: unknown;
    originalCode?: unknown;
    cause?: unknown;
    meta?: { driverAdapterError?: unknown };
  };
  if (typeof originalCode === 'string') return originalCode;
  // Prisma's client has its own code; the database's is in the adapter's error.
  for (const inner of [cause, meta?.driverAdapterError]) {
    const found = inner === error ? '' : getDatabaseErrorCode(inner);
    if (found !== '') return found;
  }
  return typeof code === 'string' ? code : '';
}

/** Why a server that responds writes nothing, and what the operator must do. */
export interface WriteRejection {
  /** The cause, after "The database cannot write, because". */
  readonly reason: string;
  readonly hint: string;
}

export const READ_ONLY = '25006';
const UNIQUE_VIOLATION = '23505';

const WRITE_REJECTIONS: Readonly<Record<string, WriteRejection>> = {
  '53100': { reason: 'its disk is full', hint: 'make room on the disk of its data' },
  '58030': { reason: 'its disk fails', hint: 'look at that disk and at the log of the database' },
  [READ_ONLY]: {
    reason: 'it is read-only',
    hint: 'name the primary and not a standby, and turn default_transaction_read_only off',
  },
};

/** A file that the system protects has the code of a missing right, and a temporary file the code of an internal error. */
const UNWRITABLE_FILES: Readonly<Record<string, RegExp>> = {
  '42501': /^(fd|md|smgr|slru|xlog|buffile|copydir|relmapper)\.c$/,
  XX000: /^fd\.c$/,
};
const UNWRITABLE: WriteRejection = {
  reason: 'its files cannot be written',
  hint: 'its disk may have become read-only: look at that disk, and at the rights of the files',
};

/** Tables whose ids come from a sequence. Logical replication copies their rows and not the state of the sequences. */
export const NUMBERED_TABLES = ['events', 'audit_log'] as const;
const NUMBERED_KEYS: readonly string[] = NUMBERED_TABLES.map((table) => `${table}_pkey`);
const BEHIND: WriteRejection = {
  reason: 'a sequence is behind its table',
  hint: 'run "npm run -s admin -- doctor", which names the sequence and the statement that advances it',
};

/** Finds the error of PostgreSQL in an error. */
function findReported(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error;
  return error instanceof DatabaseError ? findReported(error.cause) : undefined;
}

/** Explains why the database does not write. Undefined if the error says nothing about writing. */
export function findWriteRejection(error: unknown): WriteRejection | undefined {
  const code = getDatabaseErrorCode(error);
  const { file = '', constraint = '' } = findReported(error) ?? {};
  if (code === UNIQUE_VIOLATION && NUMBERED_KEYS.includes(constraint)) return BEHIND;
  return UNWRITABLE_FILES[code]?.test(file) ? UNWRITABLE : WRITE_REJECTIONS[code];
}

/** PostgreSQL's own error for a write in a read-only transaction. */
export function readOnlyError(): Error {
  return Object.assign(new pg.DatabaseError('the transaction is read-only', 0, 'error'), { code: READ_ONLY });
}

/** The kind of an error thrown by `pg` or by Prisma's client. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = getDatabaseErrorCode(error);
  const match = KINDS.find(([pattern]) => pattern.test(code));
  if (match !== undefined) return new DatabaseError(match[1], error);
  if (findWriteRejection(error) !== undefined) return new DatabaseError('unavailable', error);
  // The server has ended the session, by its idle_in_transaction_session_timeout or transaction_timeout.
  if (error instanceof pg.DatabaseError && (error.severity === 'FATAL' || /^25P0[34]$/.test(code)))
    return new DatabaseError('unavailable', error);
  const lost = error instanceof Error && (LOST_CONNECTION.test(error.message) || NO_TLS.test(error.message));
  return new DatabaseError(lost ? 'unavailable' : 'other', error);
}

/**
 * The error of an attempt to open a connection. Whatever the driver says, such as "timeout expired": nothing was executed, and
 * the server cannot be used.
 */
export function toConnectError(error: unknown): DatabaseError {
  const known = toDatabaseError(error);
  return known.kind === 'other' ? new DatabaseError('unavailable', known.cause) : known;
}

/** A server that responds, but cannot do what it is asked: it has no memory, a pooler forgot a statement. */
const REJECTED_WHILE_UP = /^(532|26000|42P05)/;

/**
 * Whether the server could not be reached, or rejects to write. The watches of the database tell of the outage, so lines
 * about its consequences are for debugging.
 */
export function isOutage(error: unknown): boolean {
  const { kind, cause } = toDatabaseError(error);
  return kind === 'unavailable' && !REJECTED_WHILE_UP.test(getDatabaseErrorCode(cause));
}

/** Finds the level of a line about an error: `debug` in an outage, of which the watches of the database tell. */
export const findLogLevel = (error: unknown): 'debug' | undefined => (isOutage(error) ? 'debug' : undefined);

/** Whether `pg` lost a connection, or met a server that is starting or stopping. */
export function isConnectionLost(error: unknown): boolean {
  const lost = error instanceof Error && LOST_CONNECTION.test(error.message);
  return (
    lost || CONNECTION_LOST.test(getDatabaseErrorCode(error)) || getDatabaseErrorCode(error) === 'ECONNRESET'
  );
}

const TOO_MANY_CONNECTIONS = '53300';
/** PgBouncer before 1.23 reports its limits with the code of a protocol violation. */
const POOLER_LIMIT = /no more connections allowed|max_client_conn/;

/** True if the server, or a pooler in front of the server, has reached a limit for connections. */
export function isConnectionLimit(error: unknown): boolean {
  const { cause } = toDatabaseError(error);
  return (
    getDatabaseErrorCode(error) === TOO_MANY_CONNECTIONS ||
    (cause instanceof Error && POOLER_LIMIT.test(cause.message))
  );
}

const FOREIGN_KEY_VIOLATION = '23503';

/**
 * The name of the foreign key that a statement violated: a row refers to one that does not exist, or is referred to by
 * one that does. Undefined for any other error. Messages say the same in the language of the server.
 */
export function violatedForeignKey(error: unknown): string | undefined {
  const { code, constraint = '' } = findReported(error) ?? {};
  return code === FOREIGN_KEY_VIOLATION ? constraint : undefined;
}

/** Whether the connection was lost while a statement was being cancelled, so that its outcome is unknown. */
export function isAbandoned(error: unknown): boolean {
  return (
    error instanceof DatabaseError && getDatabaseErrorCode(error.cause) === TRANSACTION_RESOLUTION_UNKNOWN
  );
}

/**
 * Whether the server ended itself with an error: what it was writing may be found on its disk when it starts again. Servers
 * that speak another language than English name the severity otherwise.
 */
export const isPanic = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'PANIC';

/**
 * Like toDatabaseError, for statements that commit: the kind is `unknown` if the connection was lost before
 * the server reported the outcome.
 */
export function toCommitError(error: unknown): DatabaseError {
  const known = toDatabaseError(error);
  if (known.kind !== 'unavailable') return known;
  const { cause } = known;
  const told =
    cause instanceof pg.DatabaseError && !CONNECTION_LOST.test(cause.code ?? '') && !isPanic(cause);
  const sent = !(cause instanceof Error && NEVER_SENT.test(cause.message));
  return told || !sent ? known : new DatabaseError('unknown', cause);
}
