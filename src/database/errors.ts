import pg from 'pg';

/**
 * Kinds of errors that callers handle differently. `unknown` means that the connection was lost during a
 * commit, which may or may not have taken effect. Every other kind means that nothing was changed.
 */
export type DatabaseErrorKind = 'unavailable' | 'timeout' | 'locked' | 'conflict' | 'unknown' | 'other';

/** The only error that leaves the database layer. Its cause is for the log and must not reach clients. */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  constructor(kind: DatabaseErrorKind, cause: unknown) {
    super(`database: ${kind}${cause instanceof Error ? `: ${cause.message}` : ''}`, { cause });
    this.name = 'DatabaseError';
    this.kind = kind;
  }

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
  [/^(?:ERR_TLS|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/, 'unavailable'],
  // A connection whose prepared statements are missing or exist already must be replaced.
  [/^26000$|^42P05$/, 'unavailable'],
  [/^P(1001|1002|1008|1011|1017|2024)$/, 'unavailable'],
  [/^P2034$/, 'conflict'],
];

const LOST_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|not queryable|Connection ended|closed the connection|Can't reach database/i;

/** The server lacks the TLS that the URL requires. */
const NO_TLS = /does not support SSL|establishing an SSL connection/;

/** The connection was already broken. */
const NEVER_SENT = /not queryable/;
/** The server, or a pooler in front of the server, has closed the connection. */
export const CONNECTION_LOST = /^08|^57P0/;
export const TRANSACTION_RESOLUTION_UNKNOWN = '08007';

/** @returns the SQLSTATE or system error code of the innermost cause, or an empty string. */
export function getDatabaseErrorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, originalCode, cause, meta } = error as {
    code?: unknown;
    originalCode?: unknown;
    cause?: unknown;
    meta?: { driverAdapterError?: unknown };
  };
  if (typeof originalCode === 'string') return originalCode;
  // Prisma's client has separate codes. The code of the database is in the error of the adapter.
  for (const inner of [cause, meta?.driverAdapterError]) {
    const found = inner === error ? '' : getDatabaseErrorCode(inner);
    if (found !== '') return found;
  }
  return typeof code === 'string' ? code : '';
}

export interface WriteRejection {
  /** Completes the sentence "The database cannot write, because …". */
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

/**
 * PostgreSQL reports a write-protected data file as a missing privilege, and a temporary file as an internal
 * error.
 */
const UNWRITABLE_FILES: Readonly<Record<string, RegExp>> = {
  '42501': /^(fd|md|smgr|slru|xlog|buffile|copydir|relmapper)\.c$/,
  XX000: /^fd\.c$/,
};
const UNWRITABLE: WriteRejection = {
  reason: 'its files cannot be written',
  hint: 'its disk may have become read-only: look at that disk, and at the rights of the files',
};

/** Logical replication copies rows, but not the state of their sequences. */
export const NUMBERED_TABLES = ['events', 'audit_log'] as const;
const NUMBERED_KEYS: readonly string[] = NUMBERED_TABLES.map((table) => `${table}_pkey`);
const BEHIND: WriteRejection = {
  reason: 'a sequence is behind its table',
  hint: 'run "npm run -s admin -- doctor", which names the sequence and the statement that advances it',
};

function findReported(error: unknown): pg.DatabaseError | undefined {
  if (error instanceof pg.DatabaseError) return error;
  return error instanceof DatabaseError ? findReported(error.cause) : undefined;
}

/** @returns undefined if the error is not about writing. */
export function findWriteRejection(error: unknown): WriteRejection | undefined {
  const code = getDatabaseErrorCode(error);
  const { file = '', constraint = '' } = findReported(error) ?? {};
  if (code === UNIQUE_VIOLATION && NUMBERED_KEYS.includes(constraint)) return BEHIND;
  return UNWRITABLE_FILES[code]?.test(file) ? UNWRITABLE : WRITE_REJECTIONS[code];
}

export function readOnlyError(): Error {
  return Object.assign(new pg.DatabaseError('the transaction is read-only', 0, 'error'), { code: READ_ONLY });
}

export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = getDatabaseErrorCode(error);
  const match = KINDS.find(([pattern]) => pattern.test(code));
  if (match !== undefined) return new DatabaseError(match[1], error);
  if (findWriteRejection(error) !== undefined) return new DatabaseError('unavailable', error);
  // idle_in_transaction_session_timeout or transaction_timeout has ended the session.
  if (error instanceof pg.DatabaseError && (error.severity === 'FATAL' || /^25P0[34]$/.test(code)))
    return new DatabaseError('unavailable', error);
  const lost = error instanceof Error && (LOST_CONNECTION.test(error.message) || NO_TLS.test(error.message));
  return new DatabaseError(lost ? 'unavailable' : 'other', error);
}

/**
 * An error that the driver does not classify, such as "timeout expired", means an unavailable server, because
 * nothing was executed.
 */
export function toConnectError(error: unknown): DatabaseError {
  const known = toDatabaseError(error);
  return known.kind === 'other' ? new DatabaseError('unavailable', known.cause) : known;
}

/** A reachable server has no memory, or a pooler has lost a prepared statement. */
const REJECTED_WHILE_UP = /^(532|26000|42P05)/;

/**
 * The watch of the database reports the outage, so log lines about its consequences need only level `debug`.
 */
export function isOutage(error: unknown): boolean {
  const { kind, cause } = toDatabaseError(error);
  return kind === 'unavailable' && !REJECTED_WHILE_UP.test(getDatabaseErrorCode(cause));
}

export const findLogLevel = (error: unknown): 'debug' | undefined => (isOutage(error) ? 'debug' : undefined);

/** Includes a server that is starting or stopping. */
export function isConnectionLost(error: unknown): boolean {
  const lost = error instanceof Error && LOST_CONNECTION.test(error.message);
  return (
    lost || CONNECTION_LOST.test(getDatabaseErrorCode(error)) || getDatabaseErrorCode(error) === 'ECONNRESET'
  );
}

const TOO_MANY_CONNECTIONS = '53300';
/** PgBouncer before 1.23 reports its limits with the code of a protocol violation. */
const POOLER_LIMIT = /no more connections allowed|max_client_conn/;

export function isConnectionLimit(error: unknown): boolean {
  const { cause } = toDatabaseError(error);
  return (
    getDatabaseErrorCode(error) === TOO_MANY_CONNECTIONS ||
    (cause instanceof Error && POOLER_LIMIT.test(cause.message))
  );
}

const FOREIGN_KEY_VIOLATION = '23503';

/** The name of the constraint identifies the violation, because the server translates its messages. */
function violatedConstraint(error: unknown, violation: string): string | undefined {
  const { code, constraint = '' } = findReported(error) ?? {};
  return code === violation ? constraint : undefined;
}

export const violatedForeignKey = (error: unknown) => violatedConstraint(error, FOREIGN_KEY_VIOLATION);

export const violatedUniqueIndex = (error: unknown) => violatedConstraint(error, UNIQUE_VIOLATION);

export function isAbandoned(error: unknown): boolean {
  return (
    error instanceof DatabaseError && getDatabaseErrorCode(error.cause) === TRANSACTION_RESOLUTION_UNKNOWN
  );
}

/**
 * The last writes may still be on the disk after the restart. Only a server with English messages sends this
 * severity.
 */
export const isPanic = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.severity === 'PANIC';

/**
 * For statements that commit. The kind is `unknown` if the connection was lost before the server reported the
 * outcome.
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
