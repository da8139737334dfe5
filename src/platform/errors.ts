interface ErrorDefinition {
  /** The HTTP status if the error occurs outside an execution. */
  readonly status: number;
  readonly message: string;
}

/** The closed set of error codes (contract: errors). */
export const ERRORS = {
  GRAPHQL_PARSE_FAILED: { status: 400, message: 'The document is not valid GraphQL. Correct its syntax.' },
  GRAPHQL_VALIDATION_FAILED: {
    status: 400,
    message: 'The document does not match the schema. Validate it against schema.graphql.',
  },
  BAD_REQUEST: { status: 400, message: 'The request is not a valid GraphQL request. Correct the client.' },
  BAD_USER_INPUT: { status: 200, message: 'An argument is not valid. Correct its value.' },
  UNAUTHENTICATED: {
    status: 401,
    message: 'Credentials are required, for example an API key as "Authorization: Bearer <key>".',
  },
  FORBIDDEN: {
    status: 403,
    message: 'The credentials do not allow this operation. Use credentials that have the required scope.',
  },
  NOT_FOUND: { status: 200, message: 'The object does not exist or was deleted.' },
  DOCUMENT_NOT_FOUND: {
    status: 404,
    message: 'The document is not published. Publish it, or check its id.',
  },
  // Clients with Apollo's protocol compare these two messages.
  PERSISTED_QUERY_NOT_FOUND: { status: 200, message: 'PersistedQueryNotFound' },
  PERSISTED_QUERY_NOT_SUPPORTED: { status: 200, message: 'PersistedQueryNotSupported' },
  DOCUMENT_REQUIRED: {
    status: 400,
    message: 'Only published documents are allowed, and this document is not published. Publish it first.',
  },
  CONFLICT: { status: 200, message: 'The object was changed. Read it again before you retry.' },
  RATE_LIMITED: { status: 429, message: 'Too many of your requests are waiting. Try again.' },
  DEPTH_LIMIT: { status: 400, message: 'The operation is nested too deeply. Split the operation.' },
  COMPLEXITY_LIMIT: { status: 400, message: 'The operation is too complex. Split the operation.' },
  TIMEOUT: {
    status: 504,
    message: 'The operation took too long and was cancelled. Request less, or try again later.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    message: 'This Idempotency-Key was used for another mutation or other variables. Send a new key.',
  },
  IDEMPOTENCY_IN_PROGRESS: {
    status: 409,
    message: 'The first request with this Idempotency-Key is still running. Try again.',
  },
  EVENT_HISTORY_EXPIRED: {
    status: 200,
    message:
      'The events after this event id are no longer stored. Query the current data, then subscribe again with the id of this message.',
  },
  SERVICE_UNAVAILABLE: { status: 503, message: 'The service is temporarily unavailable. Try again.' },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    message: 'The service failed with an internal error. Report the request id to the operator.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>;

export type ErrorCode = keyof typeof ERRORS;

export interface ApiErrorOptions {
  readonly argument?: string;
  /** Overrides the HTTP status of BAD_REQUEST (405, 406, 413, 415), and of NOT_FOUND at an unknown path (404). */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly retryAfterSeconds?: number;
  readonly details?: Readonly<Record<string, string | number>>;
  readonly retriable?: boolean;
  readonly cause?: unknown;
}

const RETRIABLE: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'RATE_LIMITED']);

/** Clients may see the message of this error. Every other error is masked. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, string | number>>;
  /**
   * True if the operation may succeed later or with other credentials of the account. A retriable error is
   * never stored under an Idempotency-Key.
   */
  readonly retriable: boolean;

  constructor(
    code: ErrorCode,
    message: string = ERRORS[code].message,
    { argument, status, headers = {}, retryAfterSeconds, details, retriable, cause }: ApiErrorOptions = {},
  ) {
    // A stack trace is most of the cost of an error.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.code = code;
    this.status = status ?? ERRORS[code].status;
    this.headers =
      retryAfterSeconds === undefined ? headers : { ...headers, 'retry-after': String(retryAfterSeconds) };
    this.retriable = retriable ?? (this.status >= 500 || RETRIABLE.has(code));
    this.extensions = { code, ...(argument === undefined ? {} : { argument }), ...details };
  }
}

/**
 * The value and its limit are also in `extensions`.
 * @param what precedes the value in the message
 */
export function exceeded(
  code: 'DEPTH_LIMIT' | 'COMPLEXITY_LIMIT' | 'GRAPHQL_PARSE_FAILED',
  what: string,
  value: number,
  maximum: number,
  unit = '',
): ApiError {
  const message = `${what} ${value}${unit} exceeds the limit of ${maximum}${unit}. Request less, or split the operation.`;
  return new ApiError(code, message, { details: { value, maximum } });
}

export function responseTooLarge(bytes: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'A response of at least', bytes, maximum, ' bytes');
}

/** @param problem follows the name of the argument in the message */
export function badInput(argument: string, problem: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `Argument "${argument}" ${problem}`, { argument });
}

const MAX_QUOTED_LENGTH = 80;

export function quoteValue(value: string | number): string {
  const text = String(value);
  return JSON.stringify(text.length > MAX_QUOTED_LENGTH ? `${text.slice(0, MAX_QUOTED_LENGTH)}…` : text);
}

/** @param type the name of the object's type, capitalised */
export function notFound(type: string, id: string | number): ApiError {
  return new ApiError('NOT_FOUND', `${type} ${quoteValue(id)} does not exist or was deleted.`);
}

export function documentRetired(): ApiError {
  return new ApiError(
    'DOCUMENT_NOT_FOUND',
    'The document of this stream was retired. Subscribe with a published document.',
  );
}

export function addressBlocked(): ApiError {
  return forbidden('Your IP address is blocked. Contact the operator. (Operator: remove the block.)');
}

export function conflict(type: string, id: string, version: number, ifVersion: number): ApiError {
  const message = `${type} ${quoteValue(id)} has version ${version}, but ifVersion is ${ifVersion}. Read it again before you retry.`;
  return new ApiError('CONFLICT', message, { details: { version } });
}

export function forbidden(message: string): ApiError {
  return new ApiError('FORBIDDEN', message);
}

/** RFC 9110 §15.5.2 requires a challenge, even where no scheme exists, such as for credentials in a body. */
export function unauthenticated(message: string, challenge = 'Bearer'): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers: { 'www-authenticate': challenge } });
}

/** A rejection after which the client waits and tries again. */
export function tryLater(
  code: 'RATE_LIMITED' | 'SERVICE_UNAVAILABLE',
  message: string | undefined,
  retryAfterSeconds = 1,
): ApiError {
  return new ApiError(code, message, { retryAfterSeconds });
}

/**
 * Stack traces are most of the cost of a rejected document, so `run` captures none and must only create
 * errors for clients.
 */
export function withoutStackTraces<T>(run: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * An error that its reader, such as an operator, can correct. The message has one line and is shown without a
 * stack.
 */
export class OperatorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

export const onOneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();

/** The userinfo of a URL (RFC 3986 §3.2.1), except the examples in messages. */
const USER_INFORMATION = /(:\/\/)(?!user:password@host\b)[^\s/?#"'\\]*@/g;

export function withoutUserInformation(text: string): string {
  return text.includes('@') ? text.replaceAll(USER_INFORMATION, '$1') : text;
}
