/**
 * The closed set of error codes (contract section 4), each with its HTTP status when raised outside an
 * execution.
 */
export const ERROR_STATUS = {
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  BAD_REQUEST: 400,
  BAD_USER_INPUT: 200,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 200,
  DOCUMENT_NOT_FOUND: 404,
  PERSISTED_QUERY_NOT_FOUND: 200,
  PERSISTED_QUERY_NOT_SUPPORTED: 200,
  DOCUMENT_REQUIRED: 400,
  CONFLICT: 200,
  RATE_LIMITED: 429,
  DEPTH_LIMIT: 400,
  COMPLEXITY_LIMIT: 400,
  TIMEOUT: 504,
  IDEMPOTENCY_KEY_REUSED: 422,
  IDEMPOTENCY_IN_PROGRESS: 409,
  EVENT_HISTORY_EXPIRED: 200,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface ApiErrorOptions {
  /** The invalid argument, for input errors. */
  readonly argument?: string;
  /**
   * Overrides the code's HTTP status: for BAD_REQUEST (405, 406, 413, 415), and NOT_FOUND at an unknown path (404).
   */
  readonly status?: number;
  /** Response headers of the error, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further `extensions`, such as a value and its limit. */
  readonly details?: Readonly<Record<string, string | number>>;
  /** Overrides what follows from code and status. */
  readonly retriable?: boolean;
  readonly cause?: unknown;
}

/** Codes that say something about the moment or the credentials, whatever their status. */
const RETRIABLE: ReadonlySet<ErrorCode> = new Set(['UNAUTHENTICATED', 'RATE_LIMITED']);

/** An error whose message is safe to show to clients. Every other error is masked. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The `extensions` of the entry in `errors`. */
  readonly extensions: Readonly<Record<string, string | number>>;
  /**
   * Whether the same operation may succeed later, or with other credentials of the account: the error says something
   * about the moment or the credentials. It is never stored under an Idempotency-Key.
   */
  readonly retriable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    { argument, status, headers = {}, details = {}, retriable, cause }: ApiErrorOptions = {},
  ) {
    // A stack trace is useless here, and capturing it is most of the cost of an error.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.code = code;
    this.status = status ?? ERROR_STATUS[code];
    this.headers = headers;
    this.retriable = retriable ?? (this.status >= 500 || RETRIABLE.has(code));
    this.extensions = { code, ...(argument === undefined ? {} : { argument }), ...details };
  }
}

/**
 * The error for a value above its limit; both are in `extensions`. `what` precedes the value in the message.
 */
export function exceeded(
  code: 'DEPTH_LIMIT' | 'COMPLEXITY_LIMIT' | 'GRAPHQL_PARSE_FAILED',
  what: string,
  value: number,
  maximum: number,
  unit = '',
): ApiError {
  return new ApiError(code, `${what} ${value}${unit} exceeds the limit of ${maximum}${unit}.`, {
    details: { value, maximum },
  });
}

/** Refuses a response of at least `bytes` bytes (contract section 5). */
export function answerTooLarge(bytes: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'A response of at least', bytes, maximum, ' bytes');
}

/** An invalid argument value. `problem` follows the argument's name in the message. */
export function badInput(argument: string, problem: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `Argument "${argument}" ${problem}`, { argument });
}

export function notFound(what: string): ApiError {
  return new ApiError('NOT_FOUND', `There is no such ${what}.`);
}

/** Ends a stream whose document is published no more. */
export function documentRetired(): ApiError {
  return new ApiError('DOCUMENT_NOT_FOUND', 'The document of this stream is published no more.');
}

/** Refuses whoever comes from an address that an operator has blocked. */
export function addressBlocked(): ApiError {
  return forbidden('Requests from this address are refused. Ask whoever runs this service.');
}

/** Refuses to change what is of another version than the caller has read. */
export function conflict(what: string, version: number): ApiError {
  return new ApiError('CONFLICT', `The ${what} has changed: it is of version ${version} by now.`, {
    details: { version },
  });
}

export function forbidden(message: string): ApiError {
  return new ApiError('FORBIDDEN', message);
}

export function unauthenticated(message: string, headers: Readonly<Record<string, string>> = {}): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers });
}

/**
 * Runs code whose errors only go to a client, without capturing stack traces: they are most of the cost of a
 * refused document. No error thrown by `run` has a stack trace, so `run` must only create such errors.
 */
export function withoutStacks<T>(run: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return run();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Something that the person who asked can put right, such as an operator. Its message says what is wrong and what to do,
 * in one line, and is shown without a stack.
 */
export class OperatorError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The text on one line. */
export const onOneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ').trim();

/** The userinfo of a URL (RFC 3986 section 3.2.1), except that of the examples in messages. */
const USER_INFORMATION = /(:\/\/)(?!user:password@host\b)[^\s/?#"'\\]*@/g;

/** The text without the user names and passwords of the URLs in it. */
export function withoutUserInformation(text: string): string {
  return text.includes('@') ? text.replaceAll(USER_INFORMATION, '$1') : text;
}
