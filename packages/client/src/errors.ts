/** The codes of the service. The service sends no others. */
export type ServiceCode =
  | 'BAD_REQUEST'
  | 'BAD_USER_INPUT'
  | 'COMPLEXITY_LIMIT'
  | 'CONFLICT'
  | 'DEPTH_LIMIT'
  | 'DOCUMENT_NOT_FOUND'
  | 'DOCUMENT_REQUIRED'
  | 'EVENT_HISTORY_EXPIRED'
  | 'FORBIDDEN'
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'INTERNAL_SERVER_ERROR'
  | 'NOT_FOUND'
  | 'PERSISTED_QUERY_NOT_FOUND'
  | 'PERSISTED_QUERY_NOT_SUPPORTED'
  | 'RATE_LIMITED'
  | 'SERVICE_UNAVAILABLE'
  | 'TIMEOUT'
  | 'UNAUTHENTICATED';

/**
 * The codes of this package. `NETWORK_ERROR`: no complete response came. `UNEXPECTED_RESPONSE`: the response is not from
 * the service, but for example from a proxy or a login page of a network. `INTENT_EXPIRED`: the service no longer knows
 * the outcome of an earlier attempt. `STREAMS_UNSUPPORTED`: this `fetch` cannot read a response as it arrives.
 */
export type ClientCode = 'NETWORK_ERROR' | 'UNEXPECTED_RESPONSE' | 'INTENT_EXPIRED' | 'STREAMS_UNSUPPORTED';

/** Every value of `ContentGraphError.code`. */
export type ErrorCode = ServiceCode | ClientCode;

/** An entry of `errors` in a GraphQL response. */
export interface ServiceError {
  /** For people. It may change with any version of the service. */
  readonly message: string;
  /** The response field that failed. */
  readonly path?: readonly (string | number)[];
  /** The positions in the document. */
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  /** The machine-readable part. */
  readonly extensions?: {
    readonly code?: ServiceCode;
    /** The invalid argument, for `BAD_USER_INPUT`. */
    readonly argument?: string;
    /** The current version, for `CONFLICT`. */
    readonly version?: number;
    /** Present if a mutation may have been committed. */
    readonly outcome?: 'unknown';
    /** The id of the request in the log of the service. */
    readonly requestId?: string;
  };
}

/** The members of a `ContentGraphError` except its code and message. */
export interface ErrorDetails {
  readonly errors?: readonly ServiceError[];
  readonly httpStatus?: number | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly wasExecuted?: boolean;
  readonly isOutcomeUnknown?: boolean;
  readonly cause?: unknown;
}

const RETRYABLE_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'NETWORK_ERROR',
  'RATE_LIMITED',
  'IDEMPOTENCY_IN_PROGRESS',
  'TIMEOUT',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_SERVER_ERROR',
]);

const UNKNOWN_OUTCOME_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'NETWORK_ERROR',
  'UNEXPECTED_RESPONSE',
  'IDEMPOTENCY_IN_PROGRESS',
  'INTENT_EXPIRED',
]);

/** The only error that the client throws, except the reason of an aborted signal. */
export class ContentGraphError extends Error {
  override readonly name = 'ContentGraphError';
  /** The code of the first error, from a closed set. */
  readonly code: ErrorCode;
  /** The errors of the response. Empty if the service did not respond. */
  readonly errors: readonly ServiceError[];
  /** The status of the response. Undefined without a response, and inside an event stream. */
  readonly httpStatus: number | undefined;
  /** The id of the request in the log of the service. */
  readonly requestId: string | undefined;
  /** The time that the service asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** True if the operation was executed: the response has `data`, which may be null. */
  readonly wasExecuted: boolean;
  /** True if a mutation may have been committed. Only another attempt with its key finds out. */
  readonly isOutcomeUnknown: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const { errors = [], httpStatus, wasExecuted = false, isOutcomeUnknown = false } = details;
    this.code = code;
    this.errors = errors;
    this.httpStatus = httpStatus;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.wasExecuted = wasExecuted;
    this.isOutcomeUnknown =
      isOutcomeUnknown ||
      UNKNOWN_OUTCOME_CODES.has(code) ||
      httpStatus === 408 ||
      errors[0]?.extensions?.outcome === 'unknown';
  }

  /** The invalid argument, for `BAD_USER_INPUT`. */
  get argument(): string | undefined {
    return this.errors[0]?.extensions?.argument;
  }

  /** The current version, for `CONFLICT`. */
  get version(): number | undefined {
    return this.errors[0]?.extensions?.version;
  }

  /** True if the same request may succeed later. A mutation needs the same key for that. */
  get isRetryable(): boolean {
    const { code, httpStatus = 0 } = this;
    return RETRYABLE_CODES.has(code) || httpStatus === 408 || httpStatus === 429 || httpStatus >= 500;
  }
}

/** True for an error of the client, and with codes only for one that has such a code. */
export function isContentGraphError(
  error: unknown,
  ...codes: readonly ErrorCode[]
): error is ContentGraphError {
  return error instanceof ContentGraphError && (codes.length === 0 || codes.includes(error.code));
}

/** Copies an error that says nothing about an earlier attempt whose outcome is unknown. */
export function withUnknownOutcome(error: ContentGraphError): ContentGraphError {
  const { code, message, cause } = error;
  return new ContentGraphError(code, message, { ...error, cause, isOutcomeUnknown: true });
}
