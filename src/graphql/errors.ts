/** The closed set of error codes (contract section 4), each with the HTTP status it has outside an execution. */
export const ERROR_STATUS = {
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  BAD_REQUEST: 400,
  BAD_USER_INPUT: 200,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 200,
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
  /** The argument that is wrong, for input errors. */
  readonly argument?: string;
  /** Another HTTP status than the code's own, for BAD_REQUEST (405, 406, 413, 415) and FORBIDDEN before execution. */
  readonly status?: number;
  /** Headers that belong to the refusal, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** More for `extensions`, such as a figure and its ceiling. */
  readonly details?: Readonly<Record<string, string | number>>;
  readonly cause?: unknown;
}

/** An error that a client may see as it is: its message is written for it. Everything else is masked. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What the `extensions` of the entry in `errors` hold. */
  readonly extensions: Readonly<Record<string, string | number>>;

  constructor(
    code: ErrorCode,
    message: string,
    { argument, status, headers = {}, details = {}, cause }: ApiErrorOptions = {},
  ) {
    // Where it was made tells nobody anything, and to note that is most of the price of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'ApiError';
    this.code = code;
    this.status = status ?? ERROR_STATUS[code];
    this.headers = headers;
    this.extensions = { code, ...(argument === undefined ? {} : { argument }), ...details };
  }
}

/** What is past a ceiling, with the figure and the ceiling. `what` goes on to the figure. */
export function exceeded(
  code: 'DEPTH_LIMIT' | 'COMPLEXITY_LIMIT' | 'GRAPHQL_PARSE_FAILED',
  what: string,
  value: number,
  maximum: number,
): ApiError {
  return new ApiError(code, `${what} ${value}, more than the ${maximum} that are taken.`, {
    details: { value, maximum },
  });
}

/** The refusal of an answer of so many bytes, or more (contract section 5). */
export function answerTooLarge(bytes: number, maximum: number): ApiError {
  return exceeded('COMPLEXITY_LIMIT', 'The bytes of the answer are at least', bytes, maximum);
}

/** An argument with a value that the service does not take. `problem` goes on from the argument's name. */
export function badInput(argument: string, problem: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `Argument "${argument}" ${problem}`, { argument });
}

export function notFound(what: string): ApiError {
  return new ApiError('NOT_FOUND', `There is no such ${what}.`);
}

export function forbidden(message: string): ApiError {
  return new ApiError('FORBIDDEN', message);
}

export function unauthenticated(message: string, headers: Readonly<Record<string, string>> = {}): ApiError {
  return new ApiError('UNAUTHENTICATED', message, { headers });
}
