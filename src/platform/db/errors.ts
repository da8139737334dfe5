import pg from 'pg';

/**
 * What went wrong with the database, as far as a caller can act on it. `unknown`: the connection was lost while
 * something was committed, which may be done or not. After any other nothing was changed.
 */
export type DatabaseErrorKind = 'unavailable' | 'timeout' | 'locked' | 'conflict' | 'unknown' | 'other';

/** The only error that leaves the database layer. The cause is for the log, never for a client. */
export class DatabaseError extends Error {
  readonly kind: DatabaseErrorKind;
  constructor(kind: DatabaseErrorKind, cause: unknown) {
    super(`database: ${kind}${cause instanceof Error ? `: ${cause.message}` : ''}`, { cause });
    this.name = 'DatabaseError';
    this.kind = kind;
  }
}

/** SQLSTATE codes and classes (PostgreSQL appendix A) and Node's socket errors. */
const KINDS: readonly [RegExp, DatabaseErrorKind][] = [
  [/^57014$/, 'timeout'],
  [/^55P03$/, 'locked'],
  [/^40001$|^40P01$/, 'conflict'],
  [/^08|^57P0|^53|^25006$|^28|^3D000$/, 'unavailable'],
  [/^E(CONN|PIPE|HOSTUNREACH|NETUNREACH|TIMEDOUT|NOENT|AI_AGAIN|NOTFOUND)/, 'unavailable'],
  // A prepared statement that is not there, or is already: the connection is replaced.
  [/^26000$|^42P05$/, 'unavailable'],
  [/^P(1001|1002|1008|1011|1017|2024)$/, 'unavailable'],
  [/^P2034$/, 'conflict'],
];

const LOST_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|not queryable|Connection ended|closed the connection|Can't reach database/i;

/** What `pg` says of a connection that was broken before. */
const NEVER_SENT = /not queryable/;
/** SQLSTATE of the connection's end, by the server or by a pooler before it. */
export const CONNECTION_LOST = /^08|^57P0/;
/** SQLSTATE for what was ended and whose outcome was not heard. */
export const TRANSACTION_RESOLUTION_UNKNOWN = '08007';

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, originalCode, cause, meta } = error as {
    code?: unknown;
    originalCode?: unknown;
    cause?: unknown;
    meta?: { driverAdapterError?: unknown };
  };
  if (typeof originalCode === 'string') return originalCode;
  // Prisma's client has a code of its own and keeps the database's in what its adapter threw.
  for (const inner of [cause, meta?.driverAdapterError]) {
    const found = inner === error ? '' : codeOf(inner);
    if (found !== '') return found;
  }
  return typeof code === 'string' ? code : '';
}

/** The kind of an error thrown by `pg` or by Prisma's client. */
export function toDatabaseError(error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error);
  const match = KINDS.find(([pattern]) => pattern.test(code));
  if (match !== undefined) return new DatabaseError(match[1], error);
  const lost = error instanceof Error && LOST_CONNECTION.test(error.message);
  return new DatabaseError(lost ? 'unavailable' : 'other', error);
}

/** Whether `pg` lost a connection, or met a server that is starting or stopping. */
export function isConnectionLost(error: unknown): boolean {
  const lost = error instanceof Error && LOST_CONNECTION.test(error.message);
  return lost || CONNECTION_LOST.test(codeOf(error)) || codeOf(error) === 'ECONNRESET';
}

/** Whether a statement that was ended has left without a word: on a connection that was lost over it. */
export function isAbandoned(error: unknown): boolean {
  return error instanceof DatabaseError && codeOf(error.cause) === TRANSACTION_RESOLUTION_UNKNOWN;
}

/**
 * The error of something that commits, as toDatabaseError gives it, but `unknown` where the connection went before the
 * server had told what became of it.
 */
export function toCommitError(error: unknown): DatabaseError {
  const known = toDatabaseError(error);
  if (known.kind !== 'unavailable') return known;
  const { cause } = known;
  const told = cause instanceof pg.DatabaseError && !CONNECTION_LOST.test(cause.code ?? '');
  const sent = !(cause instanceof Error && NEVER_SENT.test(cause.message));
  return told || !sent ? known : new DatabaseError('unknown', cause);
}
