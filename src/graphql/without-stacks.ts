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
