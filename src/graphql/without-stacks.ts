/**
 * Runs what makes errors that only ever go to a client. Capturing where each was made is most of the price of a refused
 * document. Whatever `run` throws has no stack either, so it must not do more than make such errors.
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
