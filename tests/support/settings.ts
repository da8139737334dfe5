/** Settings for tests that send many requests for one account: rate limits have tests of their own. */
export const UNTHROTTLED = {
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_PER_SECOND: '1000000',
  AUTH_FAILURE_BURST: '1000000',
} as const;

/**
 * Timeouts that no test reaches, however slow the machine is. A test about a timeout sets that timeout itself.
 * SLOW_OPERATION_MS adds a log line and has no effect otherwise.
 */
export const AMPLE_TIMEOUTS = {
  REQUEST_TIMEOUT_MS: '600000',
  OPERATION_TIMEOUT_MS: '600000',
  STATEMENT_TIMEOUT_MS: '600000',
  SLOW_OPERATION_MS: '600000',
} as const;
